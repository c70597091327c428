import { isKept, keepParsed, type Source } from "./parse-settings.ts";
import type { SenderSettings, SourceSettings } from "./settings.ts";

/**
 * A copy of checked settings, as they are kept and shown. What is `null` in them counts as absent, and is: whoever reads that a
 * destination has a secret need not ask whether it is one. Its sources are frozen. Those that were kept before are the same objects, so
 * that a change of one among thousands costs what that one does.
 *
 * @param parsed The same sources, as they were parsed.
 */
export function keptSettings({ sources }: SenderSettings, parsed: readonly Source[]): SenderSettings {
  return { sources: sources.map((source, index) => keptSource(source, parsed[index])) };
}

/**
 * Settings that were read as JSON, with the kept sources in place of those that are written alike: they are neither checked nor copied
 * again, so that a change of one among thousands costs each process that follows it what that one does.
 */
export function withKept(read: SenderSettings, kept: SenderSettings): SenderSettings {
  // What a newer version wrote may be anything.
  if (!Array.isArray(read.sources)) return read;
  const known = new Map(kept.sources.map((source) => [JSON.stringify(source), source]));
  return { ...read, sources: read.sources.map((source) => known.get(JSON.stringify(source)) ?? source) };
}

function keptSource(source: SourceSettings, parsed: Source | undefined): SourceSettings {
  if (isKept(source)) return source;
  const kept = frozenCopy(source) as SourceSettings;
  if (parsed !== undefined) keepParsed(kept, parsed);
  return kept;
}

function frozenCopy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy));
  const present = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.freeze(Object.fromEntries(present.map(([name, inner]) => [name, frozenCopy(inner)])));
}
