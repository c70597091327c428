import {
  defaultDestinationName,
  type DestinationSettings,
  type Sender,
  type SenderSettings,
  type SenderStats,
  type SourceSettings,
} from "@countersign/sender";

/** A destination with the name it goes by. */
export type NamedDestination = DestinationSettings & { readonly name: string };

/** The destinations of a source with their names: those without one are `webhooks`, `webhooks-2` and so on. */
export function namedDestinations(source: SourceSettings): readonly NamedDestination[] {
  return source.destinations.map((destination, index) => ({
    ...destination,
    name: destination.name ?? defaultDestinationName(index),
  }));
}

/** The counts of the deliveries of one destination. */
export type DestinationStats = SenderStats["destinations"][number];

/** The source of a name. */
export function sourceOf(settings: SenderSettings, name: string): SourceSettings | undefined {
  return settings.sources.find((source) => source.name === name);
}

/** The destination of a key, `<source>/<destination>`. */
export function destinationOf(settings: SenderSettings, key: string): NamedDestination | undefined {
  for (const source of settings.sources) {
    const found = namedDestinations(source).find(({ name }) => `${source.name}/${name}` === key);
    if (found) return found;
  }
  return undefined;
}

/** The destinations that have deliveries waiting, and no settings to send them by. */
export async function destinationsWithoutSettings(sender: Sender): Promise<readonly DestinationStats[]> {
  const { destinations } = await sender.stats();
  return destinations.filter(
    ({ destination, pending }) => pending > 0 && !destinationOf(sender.settings, destination),
  );
}

/** What to tell about such a destination. */
export function withoutSettingsLine({ destination, pending }: DestinationStats): string {
  return `${destination} has no settings, so ${pending === 1 ? "1 delivery waits" : `${pending} deliveries wait`}`;
}

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
