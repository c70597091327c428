import type { Sender, SenderSettings } from "@countersign/sender";
import { destinationsByKey } from "../settings/find-settings.ts";

/** The labels of what has come into the settings, and of what has gone from them. */
export interface ChangedSeries<Label extends string> {
  readonly added: readonly Record<Label, string>[];
  readonly gone: readonly Record<Label, string>[];
}

/** Which sources, or which destinations, have series of metrics: those of the settings, and those that were in them. */
export class KnownSeries<Label extends string> {
  readonly #label: Label;
  readonly #sender: Sender;
  readonly #namesIn: (settings: SenderSettings) => Iterable<string>;
  /** The settings that changes were last taken of, and the names in them. */
  #settings: SenderSettings | undefined;
  #known: ReadonlySet<string> = new Set();
  /** Others that something was counted of since. */
  readonly #others = new Set<string>();

  constructor(label: Label, sender: Sender, namesIn: (settings: SenderSettings) => Iterable<string>) {
    this.#label = label;
    this.#sender = sender;
    this.#namesIn = namesIn;
  }

  /** Adds one that something is counted of. */
  add(name: string): void {
    if (!this.#known.has(name)) this.#others.add(name);
  }

  /** The labels of one that something is counted of. */
  of(name: string): Record<Label, string> {
    this.add(name);
    return this.#labels(name);
  }

  /** What has changed since this was asked. While the settings stay, it costs nothing, however many they have. */
  takeChanges(): ChangedSeries<Label> {
    const { settings } = this.#sender;
    if (settings === this.#settings && this.#others.size === 0) return { added: [], gone: [] };
    const [before, known] = [this.#known, new Set(this.#namesIn(settings))];
    const gone = [...before, ...this.#others].filter((name) => !known.has(name));
    const added = [...known].filter((name) => !before.has(name));
    this.#settings = settings;
    this.#known = known;
    this.#others.clear();
    return { added: added.map(this.#labels), gone: gone.map(this.#labels) };
  }

  readonly #labels = (name: string): Record<Label, string> =>
    ({ [this.#label]: name }) as Record<Label, string>;
}

export function seriesOfSources(sender: Sender): KnownSeries<"source"> {
  return new KnownSeries("source", sender, ({ sources }) => sources.map(({ name }) => name));
}

export function seriesOfDestinations(sender: Sender): KnownSeries<"destination"> {
  return new KnownSeries("destination", sender, (settings) => destinationsByKey(settings).keys());
}
