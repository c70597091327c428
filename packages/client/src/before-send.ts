import { parseBack } from "@countersign/protocol";
import type { BeforeSend, Message } from "./message.ts";
import { callForeign } from "./foreign.ts";
import { dropped, type Dropped } from "./outcome.ts";
import { serialize, type SerializedCall } from "./serialize.ts";
import type { Settings } from "./settings.ts";

/**
 * Shows a call to the application's `beforeSend`, and checks and serialises again what that returns.
 *
 * Whatever goes wrong in it drops the call: sending what the hook failed to clean would be worse.
 */
export function applyBeforeSend(
  beforeSend: BeforeSend,
  call: SerializedCall,
  { clock, sanitize }: Settings,
): SerializedCall | Dropped {
  try {
    // A copy: what the hook changes must not reach the objects of the caller.
    const returned: unknown = beforeSend(parseBack(call.json) as Message);
    if (returned === null) return dropped("before-send", "beforeSend returned null.");
    const { type, ...fields } = Object(returned) as { readonly type?: unknown };
    if (type === call.type) return serialize(call.type, fields, { clock, ids: () => call.messageId });
    // No caller is left to handle the rejection of a promise.
    callForeign(() => returned);
    return dropped(
      "internal-error",
      "beforeSend must return the message with its type (not a promise), or null to drop it.",
    );
  } catch (error) {
    return dropped("internal-error", sanitize(`beforeSend failed: ${String(error)}`));
  }
}
