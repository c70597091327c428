import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, messageOf } from "../data/api.ts";
import { onEvent } from "../data/app-state.ts";
import type { Rejection, SkippedCall, Warning } from "../shapes/types.ts";
import { JsonView } from "../parts/json-view.tsx";
import { exactTime, visible } from "../words/format.ts";

const AGAIN_MS = 500;
const LIMIT = 200;

/** What to do about each reason for which a call went nowhere. */
const FIXES: Readonly<Record<string, string>> = {
  no_write_key: "Give the client library a write key.",
  unknown_write_key: "Compare the write key of the client with the sources in the settings.",
  missing_type: "Send it to /v1/track and the like, or add the type.",
  unknown_type: "Use one of the six types of call.",
  no_user_anon_id: "Add a userId, or an anonymousId.",
  missing_event: "Name the event.",
  invalid_field: "Correct the type of the field.",
  invalid_timestamp: "Write the time as ISO 8601, such as 2026-01-31T12:00:00Z.",
  message_too_large: "Leave out what the receivers do not need: a call has 32 KiB.",
  integrations: "The call turns this destination off in `integrations`. That may be meant.",
  blocked_event: "The source blocks this event in the settings.",
  no_destination: "The source has no destination that is enabled. Enable one in the settings.",
};

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
      <p class="lead">What arrived and went nowhere, the newest first.</p>
      {error !== "" && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      <section class="card stack" aria-labelledby="rejected-title">
        <h3 id="rejected-title">
          Rejected <span class="about">{rejections.length}</span>
        </h3>
        {rejections.length === 0 && <p class="note">None: every call that arrived was accepted.</p>}
        <ul class="entries">
          {rejections.map(({ id, receivedAt, reason, detail, type = "", source = "", message }) => (
            <Entry key={id} at={receivedAt} reason={reason} detail={detail} about={`${type} ${source}`}>
              {message}
            </Entry>
          ))}
        </ul>
      </section>
      <section class="card stack" aria-labelledby="skipped-title">
        <h3 id="skipped-title">
          Skipped <span class="about">{skipped.length}</span>
        </h3>
        {skipped.length === 0 && <p class="note">None: every call that was accepted has a destination.</p>}
        <ul class="entries">
          {skipped.map(({ messageId, acceptedAt, reason, type, event = "", source, identity = "" }) => (
            <Entry
              key={messageId + acceptedAt}
              at={acceptedAt}
              reason={reason}
              detail={`${type} ${event} for ${identity}`}
              about={source}
            />
          ))}
        </ul>
      </section>
      <section class="card stack" aria-labelledby="warned-title">
        <h3 id="warned-title">
          Accepted with a warning <span class="about">{warnings.length}</span>
        </h3>
        <ul class="entries">
          {warnings.map(({ receivedAt, reason, detail, source, type, paths, messageId = "" }) => (
            <Entry
              key={messageId + receivedAt}
              at={receivedAt}
              reason={reason}
              detail={`${detail} ${paths.join(", ")}`}
              about={`${type} ${source}`}
            />
          ))}
        </ul>
      </section>
    </div>
  );
}

interface EntryProps {
  readonly at: string;
  readonly reason: string;
  readonly detail: string;
  readonly about: string;
  /** The call as it came. */
  readonly children?: string;
}

function Entry({ at, reason, detail, about, children }: EntryProps): JSX.Element {
  const fix = FIXES[reason];
  return (
    <li>
      <p>
        <span class="time">{exactTime(Date.parse(at))}</span> <strong>{reason.replaceAll("_", " ")}</strong>{" "}
        <span class="note">{visible(about)}</span>
      </p>
      <p>
        <bdi>{visible(detail)}</bdi>
      </p>
      {fix !== undefined && <p class="fix">{fix}</p>}
      {children !== undefined && (
        <details>
          <summary>The call as it came</summary>
          <JsonView text={children} label="The call as it came" />
        </details>
      )}
    </li>
  );
}

function useFound(): Found {
  const [found, setFound] = useState<Found>({ rejections: [], skipped: [], warnings: [], error: "" });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let current = true;
    const read = async (): Promise<void> => {
      timer = undefined;
      const [rejections, skipped, warnings] = await Promise.allSettled([
        get<readonly Rejection[]>("/rejections", { limit: LIMIT }),
        get<{ readonly calls: readonly SkippedCall[] }>("/skipped", { limit: LIMIT }),
        get<readonly Warning[]>("/warnings", { limit: LIMIT }),
      ]);
      if (!current) return;
      const failed = [rejections, skipped, warnings].find((result) => result.status === "rejected");
      setFound({
        rejections: rejections.status === "fulfilled" ? rejections.value : [],
        skipped: skipped.status === "fulfilled" ? skipped.value.calls : [],
        warnings: warnings.status === "fulfilled" ? warnings.value : [],
        error: failed === undefined ? "" : messageOf(failed.reason),
      });
    };
    void read();
    const stop = onEvent(({ event }) => {
      if (EVENTS.has(event)) timer ??= setTimeout(() => void read(), AGAIN_MS);
    });
    return () => {
      current = false;
      clearTimeout(timer);
      stop();
    };
  }, []);
  return found;
}
