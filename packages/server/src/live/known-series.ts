import type { Sender } from "@countersign/sender";
import { destinationsByKey } from "../settings/find-settings.ts";

/** Which sources, or which destinations, have series of metrics: those of the settings, and those that were in them. */
export class KnownSeries<Label extends string> {
  readonly #label: Label;
  readonly #known: () => Iterable<string>;
  readonly #names = new Set<string>();

  /** @param known Those of the settings, as they are when it is asked for. */
  constructor(label: Label, known: () => Iterable<string>) {
    this.#label = label;
    this.#known = known;
  }

  /** Adds one that something is counted of. */
  add(name: string): void {
    this.#names.add(name);
  }

  /** The labels of one that something is counted of. */
  of(name: string): Record<Label, string> {
    this.add(name);
    return { [this.#label]: name } as Record<Label, string>;
  }

  /** The labels of those of the settings. */
  readonly inSettings = (): readonly Record<Label, string>[] =>
    [...this.#known()].map((name) => this.of(name));

  /** The labels of those that are gone from the settings since this was asked. */
  takeGone(): readonly Record<Label, string>[] {
    const known = new Set(this.#known());
    const gone = [...this.#names].filter((name) => !known.has(name));
    const labels = gone.map((name) => this.of(name));
    for (const name of gone) this.#names.delete(name);
    return labels;
  }
}

export function seriesOfSources(sender: Sender): KnownSeries<"source"> {
  return new KnownSeries("source", () => sender.settings.sources.map(({ name }) => name));
}

export function seriesOfDestinations(sender: Sender): KnownSeries<"destination"> {
  return new KnownSeries("destination", () => destinationsByKey(sender.settings).keys());
}
