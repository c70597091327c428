import type { JSX } from "preact";
import type { Sign as Name, Tone, Verdict } from "../words/words.ts";

/** Signs beside the words, so that nothing depends on colour. */
const SIGNS: Readonly<Record<Name, string>> = {
  good: "M3 8.5l3.2 3.2L13 5",
  bad: "M4 4l8 8M12 4l-8 8",
  warn: "M8 3v6M8 12v.5",
  wait: "M8 4v4l2.5 2M8 1.8a6.2 6.2 0 1 0 .01 0",
  loud: "M8 1.5L15 14H1zM8 6v4M8 12v.5",
  plain: "M4 8h8",
  retry: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5V5h-2.5",
  late: "M4 2h8L4 14h8z",
};

interface SignProps {
  readonly tone: Tone;
  readonly sign?: Name | undefined;
}

/** The sign of a tone, or another in its colour. */
export function Sign({ tone, sign = tone }: SignProps): JSX.Element {
  return (
    <svg class={`sign ${tone}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={SIGNS[sign]} />
    </svg>
  );
}

/** A word with its sign and colour. */
export function Mark({ tone, word, sign }: Verdict): JSX.Element {
  return (
    <span class={`mark ${tone}`}>
      <Sign tone={tone} sign={sign} />
      <span class="word">{word}</span>
    </span>
  );
}
