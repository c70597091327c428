import type { SenderSettings } from "./settings.ts";

/**
 * A copy of checked settings, as they are kept and shown. What is `null` in them counts as absent, and is: whoever reads that a
 * destination has a secret need not ask whether it is one.
 */
export function keptSettings({ sources }: SenderSettings): SenderSettings {
  return withoutNulls(structuredClone({ sources })) as SenderSettings;
}

function withoutNulls(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutNulls);
  const present = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(present.map(([name, inner]) => [name, withoutNulls(inner)]));
}
