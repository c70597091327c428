import { namedDestinations, type CountersignServer } from "@countersign/server";
import type { LineContext } from "./attempt-line.ts";

/** What the settings say of all destinations. */
interface Known {
  /** Whether there are several endpoints. */
  readonly several: boolean;
  readonly signed: ReadonlyMap<string, boolean>;
}

/** What lines need to know about destinations, read from the settings when they have changed. */
export class DestinationContexts {
  readonly #server: Pick<CountersignServer, "sender">;
  readonly #budgetMs: number;
  #known: Known | undefined;

  /** `budgetMs`: how long a receiver has to answer. */
  constructor(server: Pick<CountersignServer, "sender">, budgetMs: number) {
    this.#server = server;
    this.#budgetMs = budgetMs;
  }

  /** Of a destination, as `<source>/<destination>`. One that is gone counts as signed. */
  of(destination: string): LineContext {
    const { several, signed } = (this.#known ??= this.#read());
    return { several, signed: signed.get(destination) ?? true, budgetMs: this.#budgetMs };
  }

  /** The settings have changed. */
  forget(): void {
    this.#known = undefined;
  }

  #read(): Known {
    const destinations = this.#server.sender.settings.sources.flatMap((source) =>
      namedDestinations(source).map((destination) => ({ source, destination })),
    );
    const urls = destinations.flatMap(({ destination }) => destination.endpoints.map(({ url }) => url));
    const signed = destinations.map(
      ({ source, destination: { name, secret } }) =>
        [`${source.name}/${name}`, secret !== undefined] as const,
    );
    return { several: new Set(urls).size > 1, signed: new Map(signed) };
  }
}
