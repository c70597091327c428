export { otel, type OtelOptions } from "./otel/otel.ts";
