import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { announce } from "../data/announce.ts";

/** Puts text on the clipboard. False where the browser does not allow it. */
export async function copyText(text: string, what: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    announce(`Copied ${what}.`);
    return true;
  } catch {
    announce("The browser forbids copying here. Select the text.");
    return false;
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
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    const done = await copyText(typeof text === "string" ? text : text(), what);
    setCopied(done);
    if (done) setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      {copied ? "Copied" : children}
    </button>
  );
}
