import type { CallType } from "@countersign/protocol";
import type { MessageBlock } from "./message-block.ts";
import type { Undelivered } from "./outcome.ts";

/**
 * A message as a hook gets it. Its fields are read when they are asked for, because most hooks only count; they are its own, so
 * a copy has them all.
 */
export function undelivered<Outcome extends Undelivered["outcome"]>(
  block: MessageBlock,
  number: number,
  outcome: Outcome,
): Undelivered<Outcome> {
  const fields = () =>
    JSON.parse(block.read(number)) as { readonly messageId: string; readonly type: CallType };
  return {
    get messageId() {
      return fields().messageId;
    },
    get type() {
      return fields().type;
    },
    get json() {
      return block.read(number);
    },
    outcome,
  };
}
