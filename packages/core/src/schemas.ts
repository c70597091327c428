export { messageSchema } from "./schemas/message-schema.ts";
export { openApiDocument, type OpenApiOptions } from "./schemas/openapi.ts";
