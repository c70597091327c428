export { readStream } from "./request/read-stream.ts";
export type { WebhookBody } from "./request/request.ts";
export { requestBody } from "./request/request-body.ts";
