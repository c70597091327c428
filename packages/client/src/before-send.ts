import type { CallDefaults } from "@countersign/protocol";
import type { BeforeSend, Message } from "./message.ts";
import { droppedUnsent, type Dropped } from "./outcome.ts";
import { serialize, type SerializedCall } from "./serialize.ts";

/**
 * Shows a call to the application's `beforeSend`, and checks and serialises again what that returns.
 *
 * Whatever goes wrong in it drops the call: sending what the hook failed to clean would be worse.
 */
export function applyBeforeSend(
  beforeSend: BeforeSend,
  call: SerializedCall,
  defaults: CallDefaults,
): SerializedCall | Dropped {
  try {
    // A copy: what the hook changes must not reach the objects of the caller.
    const returned: unknown = beforeSend(JSON.parse(call.json) as Message);
    if (returned === null) return droppedUnsent("before-send", "beforeSend returned null.");
    if (returned instanceof Promise) {
      // It comes too late for the call, and nobody is left to handle it.
      returned.catch(() => {});
      return droppedUnsent("internal-error", "beforeSend returned a promise. Make it synchronous.");
    }
    if (typeof returned !== "object") {
      const detail = `beforeSend returned ${typeof returned}. Return the message, or null to drop it.`;
      return droppedUnsent("internal-error", detail);
    }
    const { type, ...fields } = returned as { readonly type?: unknown };
    if (type !== call.type) {
      return droppedUnsent("internal-error", `beforeSend changed the type, which was ${call.type}.`);
    }
    return serialize(call.type, fields, { ...defaults, messageId: () => call.messageId });
  } catch (error) {
    return droppedUnsent("internal-error", `beforeSend failed: ${String(error)}`);
  }
}
