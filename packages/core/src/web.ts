export { readStream } from "./read-stream.ts";
export { requestBody } from "./request-body.ts";
