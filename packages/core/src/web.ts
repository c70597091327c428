export { readStream } from "./request/read-stream.ts";
export { requestBody } from "./request/request-body.ts";
