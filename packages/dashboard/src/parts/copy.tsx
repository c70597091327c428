import type { JSX } from "preact";
import { announce } from "../data/announce.ts";

/** Puts text on the clipboard, and says so. */
export async function copyText(text: string, what: string): Promise<void> {
  const put = (event: ClipboardEvent): void => {
    event.clipboardData?.setData("text", text);
    event.preventDefault();
  };
  let isCopied = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without TLS, a page from another machine has no clipboard but that of this event.
    addEventListener("copy", put);
    isCopied = document.execCommand("copy");
    removeEventListener("copy", put);
  }
  announce(isCopied ? `Copied ${what}.` : "The browser forbids copying here.");
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
