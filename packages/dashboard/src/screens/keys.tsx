import { signal } from "../signals/signals.ts";
import type { JSX } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { Pairs } from "../parts/pairs.tsx";

/** Shows the list of keys. */
export function showHelp(): void {
  document.querySelector("dialog")?.showModal();
}

const SETTING = "countersign.single-keys";

function stored(): boolean {
  try {
    return localStorage.getItem(SETTING) !== "off";
  } catch {
    return true;
  }
}

/** Whether single letters do something outside of fields; some people's voice control or habits cannot have that. */
export const singleKeys = signal(stored());

type Handler = () => void;
const handlers = new Map<string, Handler>();

/** Gives a single key a meaning while a screen is shown: from the moment that it is, not from the frame after. */
export function useKey(key: string, handler: Handler): void {
  useLayoutEffect(() => {
    handlers.set(key, handler);
    return () => {
      if (handlers.get(key) === handler) handlers.delete(key);
    };
  });
}

/** Listens for the single keys. */
export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    // A key that is held down acts once: each repeat would resend again.
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.target as HTMLElement;
    const typing = target.closest("input, textarea, select, dialog") !== null;
    if (typing || (event.key.length === 1 && !singleKeys.value)) return;
    const handler = event.key === "?" ? showHelp : handlers.get(event.key);
    if (!handler) return;
    handler();
    event.preventDefault();
  });
}

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "search"],
  ["↓ ↑ or j k", "next and previous delivery, in the list"],
  ["Enter", "open the delivery"],
  ["Esc", "back to its row in the list"],
  ["n", "show the new rows that wait"],
  ["p", "pause and resume the list"],
  ["r", "resend"],
  ["e", "edit and resend"],
  ["c", "copy as curl"],
  ["?", "this list"],
];

/** The list of keys, and the switch for them. */
export function Help(): JSX.Element {
  const change = (event: Event): void => {
    singleKeys.value = (event.target as HTMLInputElement).checked;
    try {
      localStorage.setItem(SETTING, singleKeys.value ? "on" : "off");
    } catch {
      // Without storage the choice lasts as long as the page.
    }
  };
  return (
    <dialog aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <Pairs kind="facts keys" entries={KEYS} />
      <label class="check">
        <input type="checkbox" checked={singleKeys.value} onChange={change} />
        Single letters work outside of fields
      </label>
      <button
        type="button"
        class="primary"
        onClick={({ currentTarget }) => currentTarget.closest("dialog")?.close()}
      >
        Close
      </button>
    </dialog>
  );
}
