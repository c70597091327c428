import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { DeliveryDetail } from "../../shapes/types.ts";
import { Segments } from "../../parts/choice.tsx";
import { CopyButton } from "../../parts/copy.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { bytes, count, visible } from "../../words/format.ts";
import { bytesOf, hexDump } from "./hex.ts";

const VIEWS = [
  ["pretty", "Pretty"],
  ["exact", "Exact"],
  ["raw", "Bytes"],
] as const;
/** More than this is shown on request: it takes a moment. */
const SHOWN_CHARACTERS = 50_000;
const SHOWN_BYTES = 4_096;

/** The body that every attempt sends. */
export function Body({ delivery }: { readonly delivery: DeliveryDetail }): JSX.Element {
  const [view, setView] = useState("pretty");
  const { body, bytes: size } = delivery;
  return (
    <section aria-label="The body">
      <div class="section-head">
        <h3>
          Body <span class="about">{bytes(size)}</span>
        </h3>
        <Segments label="How the body is shown" value={view} options={VIEWS} onPick={setView} />
        <CopyButton text={body} what="the body">
          Copy
        </CopyButton>
      </div>
      {view === "pretty" && <JsonView text={body} label="Body" />}
      {view === "exact" && <Exact text={body} />}
      {view === "raw" && <Bytes delivery={delivery} />}
    </section>
  );
}

function Exact({ text }: { readonly text: string }): JSX.Element {
  const [all, setAll] = useState(false);
  const cut = !all && text.length > SHOWN_CHARACTERS;
  const shown = useMemo(() => visible(cut ? text.slice(0, SHOWN_CHARACTERS) : text), [text, cut]);
  return (
    <>
      <pre class="code exact" tabIndex={0} aria-label="Body, exactly as sent">
        {shown}
      </pre>
      {cut && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {count(text.length)} characters
        </button>
      )}
    </>
  );
}

function Bytes({ delivery }: { readonly delivery: DeliveryDetail }): JSX.Element {
  const all = useMemo(() => bytesOf(delivery), [delivery]);
  return (
    <>
      <pre class="code" tabIndex={0} aria-label="Body, byte by byte">
        {hexDump(all.subarray(0, SHOWN_BYTES))}
      </pre>
      {all.length > SHOWN_BYTES && (
        <p class="note">
          The first {bytes(SHOWN_BYTES)} of {bytes(all.length)}.
        </p>
      )}
    </>
  );
}
