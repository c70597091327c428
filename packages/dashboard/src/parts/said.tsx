import type { ComponentChildren } from "preact";
import { visible } from "../words/format.ts";

/** A sentence of the server: what it puts between backticks is code. All of it is text, whatever is in it. */
export function said(text: string): ComponentChildren {
  return visible(text)
    .split(/`([^`]+)`/)
    .map((part, index) => (index % 2 ? <code>{part}</code> : part));
}
