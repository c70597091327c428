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

const byWriteKey = new WeakMap<SenderSettings, ReadonlyMap<string, SourceSettings>>();

/** The source that a write key is of. Every request asks, so it does not look through all of them. */
export function sourceOfWriteKey(settings: SenderSettings, writeKey: string): SourceSettings | undefined {
  let known = byWriteKey.get(settings);
  if (known === undefined) {
    known = new Map(settings.sources.map((source) => [source.writeKey ?? source.name, source]));
    byWriteKey.set(settings, known);
  }
  return known.get(writeKey);
}

/** The destination of a key, `<source>/<destination>`. For many keys, use {@link destinationsByKey}: this looks through all of them. */
export function destinationOf(settings: SenderSettings, key: string): NamedDestination | undefined {
  for (const source of settings.sources) {
    const found = namedDestinations(source).find(({ name }) => `${source.name}/${name}` === key);
    if (found) return found;
  }
  return undefined;
}

/** Every destination by its key, `<source>/<destination>`. */
export function destinationsByKey({ sources }: SenderSettings): ReadonlyMap<string, NamedDestination> {
  const found = new Map<string, NamedDestination>();
  for (const source of sources) {
    for (const destination of namedDestinations(source)) {
      found.set(`${source.name}/${destination.name}`, destination);
    }
  }
  return found;
}

/** The destinations that have deliveries waiting, and no settings to send them by. */
export async function destinationsWithoutSettings(
  sender: Pick<Sender, "settings" | "stats">,
): Promise<readonly DestinationStats[]> {
  const { destinations } = await sender.stats();
  const known = destinationsByKey(sender.settings);
  return destinations.filter(({ destination, pending }) => pending > 0 && !known.has(destination));
}

/** What to tell about such a destination. */
export function withoutSettingsLine({ destination, pending }: DestinationStats): string {
  return `${destination} has no settings, so ${pending === 1 ? "1 delivery waits" : `${pending} deliveries wait`}`;
}
