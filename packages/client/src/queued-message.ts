import type { CallType } from "@countersign/protocol";
import type { Message } from "./message.ts";
import type { Undelivered } from "./outcome.ts";

/** A queued message as a hook gets it. It is read when it is asked for: most hooks only count. */
export class QueuedMessage<Outcome extends Undelivered["outcome"]> implements Undelivered<Outcome> {
  readonly outcome: Outcome;
  readonly #read: (number: number) => string;
  readonly #number: number;
  #json: string | undefined;

  constructor(read: (number: number) => string, number: number, outcome: Outcome) {
    this.outcome = outcome;
    this.#read = read;
    this.#number = number;
  }

  get json(): string {
    return (this.#json ??= this.#read(this.#number));
  }

  get messageId(): string {
    return this.#message.messageId;
  }

  get type(): CallType {
    return this.#message.type;
  }

  /** For a hook that writes what it got somewhere as JSON. */
  toJSON(): Undelivered<Outcome> {
    const { messageId, type, json, outcome } = this;
    return { messageId, type, json, outcome };
  }

  get #message(): Message {
    return JSON.parse(this.json) as Message;
  }
}
