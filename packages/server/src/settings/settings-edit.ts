import type { SenderSettings, SourceSettings } from "@countersign/sender";
import { namedDestinations, type NamedDestination } from "./find-settings.ts";

/** The settings with a source put in its place, or added at the end. */
export function withSource(settings: SenderSettings, source: SourceSettings): SenderSettings {
  return { sources: put(settings.sources, source) };
}

/** The settings without a source. */
export function withoutSource(settings: SenderSettings, name: string): SenderSettings {
  return { sources: settings.sources.filter((source) => source.name !== name) };
}

/** The source with a destination put in its place, or added at the end. */
export function withDestination(source: SourceSettings, destination: NamedDestination): SourceSettings {
  return { ...source, destinations: put(namedDestinations(source), destination) };
}

/** The source without a destination. */
export function withoutDestination(source: SourceSettings, name: string): SourceSettings {
  return {
    ...source,
    destinations: namedDestinations(source).filter((destination) => destination.name !== name),
  };
}

function put<T extends { readonly name: string }>(list: readonly T[], item: T): readonly T[] {
  const index = list.findIndex(({ name }) => name === item.name);
  return index === -1 ? [...list, item] : list.with(index, item);
}
