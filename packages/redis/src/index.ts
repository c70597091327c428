export { redisDedupe, type RedisDedupeOptions } from "./redis-dedupe.ts";
export type { IoredisClient, NodeRedisClient, RedisClient, UpstashClient } from "./redis-client.ts";
export type { DedupeStore } from "@countersign/core";
