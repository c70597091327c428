export type { OtelOptions } from "@countersign/core/otel";
export { otel } from "./otel/otel.ts";
export type { SenderInstrument } from "./transport/instrument.ts";
