import type { MessageBlock } from "./message-block.ts";
import type { Undelivered } from "../outcome.ts";

/**
 * A message as a hook gets it. Its fields are read when they are asked for, because most hooks only count; they are its own, so
 * a copy has them all.
 */
export function undelivered<Outcome extends Undelivered["outcome"]>(
  block: MessageBlock,
  number: number,
  outcome: Outcome,
): Undelivered<Outcome> {
  return {
    get messageId() {
      return (JSON.parse(this.json) as Undelivered).messageId;
    },
    get type() {
      return (JSON.parse(this.json) as Undelivered).type;
    },
    get json() {
      return block.read(number);
    },
    outcome,
  };
}
