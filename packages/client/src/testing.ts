export { virtualClock } from "@countersign/protocol";
export type { Duration, VirtualClock } from "@countersign/protocol";
export { memoryTransport } from "./memory-transport.ts";
export type { MemoryTransport, MessagePattern, Reply, SentBatch, SentMessage } from "./memory-transport.ts";
