import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Attempt, Headers } from "../../shapes/types.ts";
import { JsonView } from "../../parts/json-view.tsx";
import { Mark } from "../../parts/mark.tsx";
import { Pairs } from "../../parts/pairs.tsx";
import { ResponseTime } from "../../parts/response-time.tsx";
import { exactTime, shortUrl, visible, wordsOf } from "../../words/format.ts";
import { attemptVerdict } from "../../words/words.ts";

/** So many are shown at first: the last ones, which say how it stands. */
const SHOWN = 8;

interface Props {
  readonly history: readonly Attempt[];
  readonly signed: boolean;
  readonly selected: number;
  readonly onSelect: (index: number) => void;
}

/** The attempts as a list, and the exchange of the one that is selected. */
export function Attempts({ history, signed, selected, onSelect }: Props): JSX.Element {
  const [all, setAll] = useState(false);
  const from = all || selected < history.length - SHOWN ? 0 : Math.max(history.length - SHOWN, 0);
  const attempt = history[selected];
  return (
    <>
      {from > 0 && (
        <button type="button" class="quiet" onClick={() => setAll(true)}>
          Show {from} earlier
        </button>
      )}
      <ol class="attempts" start={from + 1}>
        {history.slice(from).map((item, offset) => {
          const index = from + offset;
          return (
            <li key={index}>
              <button type="button" aria-pressed={index === selected} onClick={() => onSelect(index)}>
                <span class="number">{item.round}</span>
                <span class="time" title={item.startedAt}>
                  {exactTime(item.startedAt)}
                </span>
                <span class="where">{shortUrl(item.endpoint)}</span>
                <Mark {...attemptVerdict(item, signed)} />
                <ResponseTime ms={item.durationMs} />
              </button>
            </li>
          );
        })}
      </ol>
      {attempt && <Exchange key={selected} {...attempt} />}
    </>
  );
}

function Exchange({
  round,
  endpoint,
  message,
  response,
  cut,
  requestHeaders,
  responseHeaders,
  fault,
}: Attempt): JSX.Element {
  const looksLikeJson = /^\s*[{[]/.test(response);
  return (
    <div class="exchange card stack">
      {fault !== undefined && (
        <p class="note">
          Injected fault: <strong>{wordsOf(fault)}</strong>
        </p>
      )}
      {message !== undefined && <p class="note">{visible(message)}</p>}
      <h4>
        Response to try {round} <span class="about">{shortUrl(endpoint)}</span>
      </h4>
      {response === "" ? (
        <p class="note">No body.</p>
      ) : looksLikeJson && cut === undefined ? (
        <JsonView text={response} label="Response body" />
      ) : (
        <pre class="code exact" tabIndex={0}>
          {visible(response)}
        </pre>
      )}
      {cut && <p class="note">Cut at 16 KiB.</p>}
      <HeaderTable title="Response headers" headers={responseHeaders} />
      <HeaderTable title="Request headers, as sent" headers={requestHeaders} />
    </div>
  );
}

function HeaderTable({
  title,
  headers,
}: {
  readonly title: string;
  readonly headers: Headers | undefined;
}): JSX.Element | null {
  const entries = Object.entries(headers ?? {});
  if (entries.length === 0) return null;
  return (
    <details>
      <summary>
        {title} ({entries.length})
      </summary>
      <Pairs kind="facts" entries={entries.map(([name, value]) => [visible(name), visible(value)])} />
    </details>
  );
}
