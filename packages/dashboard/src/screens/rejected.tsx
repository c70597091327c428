import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, messageOf } from "../data/api.ts";
import type { Rejection, SkippedCall, Warning } from "../shapes/types.ts";
import { Card } from "../parts/card.tsx";
import { Failure } from "../parts/failure.tsx";
import { useLive } from "../parts/hooks.ts";
import { JsonView } from "../parts/json-view.tsx";
import { exactTime, visible, wordsOf } from "../words/format.ts";

const AGAIN_MS = 500;
const LIMIT = 200;

interface Found {
  readonly rejections: readonly Rejection[];
  readonly skipped: readonly SkippedCall[];
  readonly warnings: readonly Warning[];
  readonly error: string;
}

const EVENTS: ReadonlySet<string> = new Set(["rejected", "skipped", "warned", "reset"]);

/** What arrived and went nowhere, with the reason and the fix. */
export function Rejected(): JSX.Element {
  const { rejections, skipped, warnings, error } = useFound();
  return (
    <div class="screen">
      <h2>Rejected and skipped</h2>
      <p class="lead">Calls that went nowhere, newest first.</p>
      <Failure text={error} />
      <Entries title="Rejected" none="None: every call that arrived was accepted.">
        {rejections.map(({ id, receivedAt, reason, detail, fix, type = "", source = "", message }) => (
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
        ))}
      </Entries>
      <Entries title="Skipped" none="None.">
        {skipped.map(({ messageId, acceptedAt, reason, fix, type, event = "", source, identity = "" }) => (
          <Entry
            key={messageId + acceptedAt}
            at={acceptedAt}
            reason={reason}
            fix={fix}
            detail={`${type} ${event} for ${identity}`}
            about={source}
          />
        ))}
      </Entries>
      <Entries title="Accepted with a warning" none="None.">
        {warnings.map(({ receivedAt, reason, detail, source, type, paths, messageId = "" }) => (
          <Entry
            key={messageId + receivedAt}
            at={receivedAt}
            reason={reason}
            detail={`${detail} ${paths.join(", ")}`}
            about={`${type} ${source}`}
          />
        ))}
      </Entries>
    </div>
  );
}

interface EntriesProps {
  readonly title: string;
  /** What an empty list says. */
  readonly none: string;
  readonly children: readonly JSX.Element[];
}

function Entries({ title, none, children }: EntriesProps): JSX.Element {
  return (
    <Card title={title} about={children.length < LIMIT ? children.length : `the newest ${LIMIT}`}>
      {children.length === 0 ? <p class="note">{none}</p> : <ul class="entries">{children}</ul>}
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
        <bdi>{visible(detail)}</bdi>
      </p>
      {fix !== undefined && <p class="fix">{fix}</p>}
      {children !== undefined && (
        <details>
          <summary>The call as received</summary>
          <JsonView text={children} label="The call as received" />
        </details>
      )}
    </li>
  );
}

function useFound(): Found {
  const [found, setFound] = useState<Found>({ rejections: [], skipped: [], warnings: [], error: "" });
  useLive(
    async (gone) => {
      let error = "";
      const read = <T,>(path: string): Promise<T | undefined> =>
        get<T>(path, { limit: LIMIT }).catch((cause: unknown) => void (error = messageOf(cause)));
      const [rejections = [], skipped, warnings = []] = await Promise.all([
        read<readonly Rejection[]>("/rejections"),
        read<{ readonly calls: readonly SkippedCall[] }>("/skipped"),
        read<readonly Warning[]>("/warnings"),
      ]);
      if (!gone.aborted) setFound({ rejections, skipped: skipped?.calls ?? [], warnings, error });
    },
    ({ event }) => EVENTS.has(event),
    AGAIN_MS,
  );
  return found;
}
