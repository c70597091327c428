export { messageSchema } from "./message-schema.ts";
export { openApiDocument, type OpenApiOptions } from "./openapi.ts";
