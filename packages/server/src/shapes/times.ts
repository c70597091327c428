/** A time as the API writes it: ISO 8601 in UTC. */
export { formatTimestamp as iso } from "@countersign/protocol";
