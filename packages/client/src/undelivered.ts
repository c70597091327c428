import type { CallType } from "@countersign/protocol";
import type { Undelivered } from "./outcome.ts";

/**
 * A message as a hook gets it. Its fields are read when they are asked for, because most hooks only count; they are its own, so
 * a copy has them all.
 */
export function undelivered<Outcome extends Undelivered["outcome"]>(
  read: (number: number) => string,
  number: number,
  outcome: Outcome,
): Undelivered<Outcome> {
  let json: string | undefined;
  const text = (): string => (json ??= read(number));
  return {
    get messageId() {
      return (JSON.parse(text()) as Undelivered).messageId;
    },
    get type() {
      return (JSON.parse(text()) as { readonly type: CallType }).type;
    },
    get json() {
      return text();
    },
    outcome,
  };
}
