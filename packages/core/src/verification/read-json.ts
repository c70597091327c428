// A file of its own, so that only apps whose JSON.parse misreads keys load it.
export { parseAsWritten } from "@countersign/protocol/json";
