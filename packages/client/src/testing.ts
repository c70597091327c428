export { memoryTransport } from "./memory-transport.ts";
export type { MemoryTransport, MessagePattern, Reply, SentBatch, SentMessage } from "./memory-transport.ts";
export { virtualClock } from "./virtual-clock.ts";
export type { VirtualClock } from "./virtual-clock.ts";
