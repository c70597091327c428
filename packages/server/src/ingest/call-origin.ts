import { formatTimestamp } from "@countersign/protocol";
import type { CallOrigin } from "@countersign/sender";
import { type ClientTimes, readTimestamp } from "./timestamps.ts";

/** A longer `channel` is none: it is not part of what the limit of a call counts. */
const MAX_CHANNEL_LENGTH = 100;

/** How a call came here. It is read only for destinations that include it in what they send, and most do not. */
export class WireOrigin implements CallOrigin {
  readonly #message: Readonly<Record<string, unknown>>;
  readonly #times: ClientTimes;

  constructor(message: Readonly<Record<string, unknown>>, times: ClientTimes) {
    this.#message = message;
    this.#times = times;
  }

  get receivedAt(): string {
    return formatTimestamp(this.#times.receivedAt);
  }

  get sentAt(): string | undefined {
    return written(this.#times.sentAt);
  }

  get originalTimestamp(): string | undefined {
    const given = this.#message["originalTimestamp"] ?? undefined;
    return written(given === undefined ? this.#times.originalTimestamp : readTimestamp(given));
  }

  get channel(): string | undefined {
    const { channel } = this.#message;
    return typeof channel === "string" && channel.length <= MAX_CHANNEL_LENGTH ? channel : undefined;
  }
}

function written(time: number | undefined): string | undefined {
  return time === undefined ? undefined : formatTimestamp(time);
}
