import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get } from "../data/api.ts";
import type { Rejection, SkippedCall, Warning } from "../shapes/types.ts";
import { Card } from "../parts/card.tsx";
import { useLive } from "../parts/hooks.ts";
import { JsonView } from "../parts/json-view.tsx";
import { said } from "../parts/said.tsx";
import { exactTime, visible, wordsOf } from "../words/format.ts";

const AGAIN_MS = 500;
const LIMIT = 200;

const EVENTS: ReadonlySet<string> = new Set(["rejected", "skipped", "warned"]);

/** What arrived and went nowhere, with the reason and the fix. */
export function Rejected(): JSX.Element {
  return (
    <div class="screen">
      <h2>Rejected and skipped</h2>
      <p class="lead">Calls that went nowhere, newest first.</p>
      <Entries
        title="Rejected"
        none="None: every call that arrived was accepted."
        read={() => get<readonly Rejection[]>("/rejections", { limit: LIMIT })}
        entry={({ id, receivedAt, reason, detail, fix, type = "", source = "", message }) => (
          <Entry
            key={id}
            at={receivedAt}
            reason={reason}
            detail={detail}
            fix={fix}
            about={`${type} ${source}`}
          >
            {message}
          </Entry>
        )}
      />
      <Entries
        title="Skipped"
        none="None."
        read={async () =>
          (await get<{ readonly calls: readonly SkippedCall[] }>("/skipped", { limit: LIMIT })).calls
        }
        entry={({ messageId, acceptedAt, reason, fix, type, event = "", source, identity = "" }) => (
          <Entry
            key={messageId + acceptedAt}
            at={acceptedAt}
            reason={reason}
            fix={fix}
            detail={`${type} ${event} for ${identity}`}
            about={source}
          />
        )}
      />
      <Entries
        title="Accepted with a warning"
        none="None."
        read={() => get<readonly Warning[]>("/warnings", { limit: LIMIT })}
        entry={({ receivedAt, reason, detail, source, type, paths, messageId = "" }) => (
          <Entry
            key={messageId + receivedAt}
            at={receivedAt}
            reason={reason}
            detail={`${detail} ${paths.join(", ")}`}
            about={`${type} ${source}`}
          />
        )}
      />
    </div>
  );
}

interface EntriesProps<T> {
  readonly title: string;
  /** What an empty list says. */
  readonly none: string;
  readonly read: () => Promise<readonly T[]>;
  readonly entry: (item: T) => JSX.Element;
}

/** A list with what went wrong; until it was read, it says nothing of what is in it. */
function Entries<T>({ title, none, read, entry }: EntriesProps<T>): JSX.Element {
  const [found, setFound] = useState<readonly T[] | undefined>(undefined);
  useLive(
    async (gone) => {
      const items = await read();
      if (!gone.aborted) setFound(items);
    },
    ({ event }) => EVENTS.has(event),
    AGAIN_MS,
  );
  return (
    <Card title={title} about={found && (found.length < LIMIT ? found.length : `the newest ${LIMIT}`)}>
      {found?.length === 0 && <p class="note">{none}</p>}
      <ul class="entries">{found?.map(entry)}</ul>
    </Card>
  );
}

interface EntryProps {
  readonly at: string;
  readonly reason: string;
  readonly detail: string;
  readonly about: string;
  readonly fix?: string;
  /** The call as received. */
  readonly children?: string;
}

function Entry({ at, reason, detail, about, fix, children }: EntryProps): JSX.Element {
  return (
    <li>
      <p>
        <span class="time">{exactTime(at)}</span> <strong>{wordsOf(reason)}</strong>{" "}
        <span class="note">{visible(about)}</span>
      </p>
      <p>
        <bdi>{said(detail)}</bdi>
      </p>
      {fix !== undefined && <p class="fix">{said(fix)}</p>}
      {children !== undefined && (
        <details>
          <summary>The call as received</summary>
          <JsonView text={children} label="The call as received" />
        </details>
      )}
    </li>
  );
}
