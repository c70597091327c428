import type { RemoteEvent } from "@countersign/sender/store";

/** The notice of one process to the others. */
export interface News {
  /** Destinations for which something was stored, as [source, destination]. */
  readonly stirred?: readonly (readonly [string, string])[] | undefined;
  /** Ids of deliveries that have ended. */
  readonly ended?: readonly string[] | undefined;
  readonly events?: readonly RemoteEvent[] | undefined;
  /** The list of workers has changed. */
  readonly list?: true | undefined;
  /** Version of the settings. */
  readonly settings?: number | undefined;
  /** Something happened that no notice tells. */
  readonly missed?: true | undefined;
}

/** The most ids of ended deliveries in one notice, and how many may wait before others are told that they have missed some. */
const [ENDED_AT_ONCE, MOST_ENDED] = [120, 2_400];

/** What other processes are to be told with the next notices. */
export class GatheredNews {
  #stirred = new Map<string, readonly [string, string]>();
  #ended: string[] = [];
  #events: RemoteEvent[] = [];
  #list = false;
  #missed = false;
  #settings: number | undefined;

  get isEmpty(): boolean {
    return (
      this.#stirred.size === 0 &&
      this.#ended.length === 0 &&
      this.#events.length === 0 &&
      !this.#list &&
      !this.#missed &&
      this.#settings === undefined
    );
  }

  add({ stirred = [], ended = [], events = [], list, missed, settings }: News): void {
    for (const pair of stirred) this.#stirred.set(pair[1], pair);
    this.#ended.push(...ended);
    this.#events.push(...events);
    this.#list ||= list === true;
    this.#missed ||= missed === true;
    this.#settings = settings ?? this.#settings;
  }

  /** Removes and returns what goes into the next notice. All of it but the events may take more than so many bytes of JSON. */
  take(bytes: number): News {
    const isTooMuch = this.#ended.length > MOST_ENDED;
    const ended = isTooMuch ? [] : this.#ended.splice(0, ENDED_AT_ONCE);
    if (isTooMuch) this.#ended = [];
    const news: News = {
      ...(this.#stirred.size > 0 && { stirred: [...this.#stirred.values()] }),
      ...(ended.length > 0 && { ended }),
      ...(this.#list && { list: true as const }),
      ...(this.#settings !== undefined && { settings: this.#settings }),
      ...((isTooMuch || this.#missed) && { missed: true as const }),
    };
    const events = this.#eventsThatFit(bytes - Buffer.byteLength(JSON.stringify(news)) - 20);
    this.#stirred = new Map();
    this.#list = false;
    this.#missed = false;
    this.#settings = undefined;
    return events.length > 0 ? { ...news, events } : news;
  }

  /** Events are for people who watch: those that do not fit are left out. */
  #eventsThatFit(bytes: number): readonly RemoteEvent[] {
    let left = bytes;
    const events = this.#events.filter((event) => {
      left -= Buffer.byteLength(JSON.stringify(event)) + 1;
      return left > 0;
    });
    this.#events = [];
    return events;
  }
}
