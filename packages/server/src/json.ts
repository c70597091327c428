export { readIntegers, type ReadIntegers, type UnsafeIntegers } from "./ingest/read-integers.ts";
