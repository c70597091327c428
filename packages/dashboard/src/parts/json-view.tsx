import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { plural, visible } from "../words/format.ts";
import { jsonLines, type JsonLine } from "./json-lines.ts";
import { useRange } from "./virtual.ts";

/** Deeper than this is not indented further, so that it stays in view. */
const MAX_INDENT = 24;
/** What is folded at first, in large bodies. */
const FOLD_BELOW_DEPTH = 2;
const FOLD_OVER_LINES = 400;
const MAX_SHOWN = 2_000;

/** JSON with a line for each value, which folds. Text that is not JSON is shown as it is. */
export function JsonView({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  const lines = useMemo(() => jsonLines(text), [text]);
  const [folded, setFolded] = useState<ReadonlySet<number>>(() => foldedAtFirst(lines ?? []));
  const scroller = useRef<HTMLDivElement>(null);
  const shown = useMemo(() => unfolded(lines ?? [], folded), [lines, folded]);
  const { from, to, rowHeight } = useRange(scroller, shown.length);
  if (!lines) return <p class="note">This is not JSON. “Exact” shows it as it was sent.</p>;
  const toggle = (line: number): void => {
    const next = new Set(folded);
    if (!next.delete(line)) next.add(line);
    setFolded(next);
  };
  return (
    <div class="code json" ref={scroller} tabIndex={0} role="region" aria-label={label}>
      <div style={{ minHeight: `${shown.length * rowHeight}px` }}>
        <div style={{ transform: `translateY(${from * rowHeight}px)` }}>
          {shown.slice(from, to).map((index) => (
            <Line
              key={index}
              line={lines[index] as JsonLine}
              folded={folded.has(index)}
              onToggle={() => toggle(index)}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

interface LineProps {
  readonly line: JsonLine;
  readonly folded: boolean;
  readonly onToggle: () => void;
}

function Line({ line, folded, onToggle }: LineProps): JSX.Element {
  const { depth, key, text, kind, items } = line;
  const close = text === "{" ? "}" : "]";
  return (
    <div class="json-line" style={{ paddingLeft: `${Math.min(depth, MAX_INDENT) * 1.2 + 1.2}em` }}>
      {kind === "open" && items > 0 && (
        <button
          type="button"
          class="fold"
          aria-expanded={!folded}
          aria-label={`${key ?? "value"}: ${plural(items, "item")}`}
          onClick={onToggle}
        >
          {folded ? "▸" : "▾"}
        </button>
      )}
      {key !== undefined && <span class="json-key">{cut(key)}: </span>}
      <span class={`json-${kind}`}>{cut(text)}</span>
      {folded && (
        <span class="json-folded">
          {" "}
          {plural(items, "item")} {close}
        </span>
      )}
    </div>
  );
}

function cut(text: string): string {
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}… (${text.length} characters)` : text;
  return visible(shown);
}

function foldedAtFirst(lines: readonly JsonLine[]): ReadonlySet<number> {
  if (lines.length <= FOLD_OVER_LINES) return new Set();
  return new Set(
    lines.flatMap(({ kind, depth, items }, index) =>
      kind === "open" && depth >= FOLD_BELOW_DEPTH && items > 0 ? [index] : [],
    ),
  );
}

/** The lines to show: not those inside of folded brackets. */
function unfolded(lines: readonly JsonLine[], folded: ReadonlySet<number>): readonly number[] {
  const shown: number[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    shown.push(index);
    if (folded.has(index)) index = lines[index]?.end ?? index;
  }
  return shown;
}
