import type { JSX } from "preact";
import { announce } from "../data/announce.ts";

/** Puts text on the clipboard, and says so. */
export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    announce(`Copied ${what}.`);
  } catch {
    announce("The browser forbids copying here. Select the text.");
  }
}

/** A button that copies text, and says so. */
export function CopyButton({
  text,
  what,
  children,
}: {
  readonly text: string | (() => string);
  /** What is copied, after "Copied". */
  readonly what: string;
  readonly children: string;
}): JSX.Element {
  const copy = (): unknown => copyText(typeof text === "string" ? text : text(), what);
  return (
    <button type="button" class="quiet" onClick={copy}>
      {children}
    </button>
  );
}
