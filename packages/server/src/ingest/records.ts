/** An object of JSON, neither null nor an array. */
export type JsonRecord = Record<string, unknown>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The same object without its null fields: on this wire a null field is an absent one. Only the fields themselves: a
 * null inside properties or traits is the customer's own value.
 */
export function withoutNulls(record: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value != null));
}

/** Whether a value of JSON nests deeper than `limit`. Recursion stops there, so any input is safe. */
export function nestsDeeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return limit === 0 || Object.values(value).some((inner) => nestsDeeperThan(inner, limit - 1));
}
