import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call, post } from "../data/api.ts";
import {
  clock,
  endpoints,
  faults,
  list,
  loadClock,
  loadFaults,
  onEvent,
  serverNow,
  status,
} from "../data/app-state.ts";
import type { Clock, Fault } from "../shapes/types.ts";
import { useAction } from "../parts/hooks.ts";
import { Mark } from "../parts/mark.tsx";
import { hrefOf } from "../route/route.ts";
import { duration, exactTime, shortUrl } from "../words/format.ts";
import { attemptVerdict, factsOf } from "../words/words.ts";

/** What each fault does, in a word or two, by what it tests. */
const GROUPS: readonly (readonly [string, string, readonly (readonly [string, string])[]])[] = [
  [
    "Forgeries",
    "A receiver must refuse these.",
    [
      ["bad_signature", "Wrong signature"],
      ["missing_signature", "No signature"],
      ["stale_secret", "Secret out of use"],
    ],
  ],
  [
    "Outages",
    "The delivery is retried.",
    [
      ["status:503", "503"],
      ["timeout", "No answer in time"],
      ["refused", "Connection refused"],
      ["reset", "Connection reset"],
    ],
  ],
  [
    "Transport",
    "A receiver must handle these once, and correctly.",
    [
      ["duplicate", "Sent twice"],
      ["reorder", "Out of order"],
      ["slow_body", "Slow body"],
      ["truncated", "Cut body"],
      ["oversize", "Over 1 MiB"],
    ],
  ],
];

/** Faults on demand, and control of the time. */
export function Faults(): JSX.Element {
  return (
    <div class="screen">
      <h2>Faults and time</h2>
      <Time />
      {endpoints.value.map(({ url, destination }) => (
        <EndpointFaults key={`${destination} ${url}`} url={url} destination={destination} />
      ))}
      <Active />
      <Verdicts />
    </div>
  );
}

const STEPS = [
  ["next", "To the next retry"],
  ["10m", "10 min"],
  ["1h", "1 h"],
  ["4h", "4 h"],
] as const;

const AGAIN_MS = 300;

/** Keeps the time of the next retry current. */
function useNextRetry(): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = (): void => {
      timer = undefined;
      loadClock().catch(() => {});
    };
    const stop = onEvent(({ event }) => {
      if (event === "retrying" || event === "delivered" || event === "expired")
        timer ??= setTimeout(read, AGAIN_MS);
    });
    read();
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, []);
}

function Time(): JSX.Element {
  const { busy, error, run } = useAction();
  useNextRetry();
  const now = clock.value;
  if (now?.kind !== "virtual") {
    return (
      <section class="card stack" aria-labelledby="time-title">
        <h3 id="time-title">Time</h3>
        <p>
          The server uses the time of this machine. Start it with <code>--virtual-clock</code> to run four
          hours of retries by a button.
        </p>
      </section>
    );
  }
  const advance = (step: string): Promise<boolean> =>
    run(async () => {
      await post<Clock>("/clock", { advance: step });
      await loadClock();
    });
  const next = now.nextDueAt === undefined ? undefined : Date.parse(now.nextDueAt) - serverNow();
  return (
    <section class="card stack" aria-labelledby="time-title">
      <h3 id="time-title">Virtual time</h3>
      <p class="big">{exactTime(serverNow())}</p>
      <p class="note" role="status">
        {next === undefined ? "Nothing waits for a retry." : `The next retry is in ${duration(next)}.`}
      </p>
      <div class="actions" role="group" aria-label="Advance the time">
        {STEPS.map(([step, label]) => (
          <button
            key={step}
            type="button"
            class={step === "next" ? "primary" : ""}
            disabled={busy || (step === "next" && next === undefined)}
            onClick={() => void advance(step)}
          >
            {step === "next" ? label : `+ ${label}`}
          </button>
        ))}
        {error !== "" && (
          <span class="error" role="alert">
            {error}
          </span>
        )}
      </div>
    </section>
  );
}

interface EndpointProps {
  readonly url: string;
  readonly destination: string;
}

function EndpointFaults({ url, destination }: EndpointProps): JSX.Element {
  const [times, setTimes] = useState("1");
  const { busy, error, run } = useAction();
  const known = new Set(status.value?.faults);
  const inject = (fault: string): Promise<boolean> =>
    run(async () => {
      await post<Fault>("/faults", {
        fault,
        endpoint: url,
        times: times === "unlimited" ? times : Number(times),
      });
      await loadFaults();
    });
  return (
    <section class="card stack" aria-label={`Faults of ${url}`}>
      <div class="section-head">
        <h3>
          <bdi>{shortUrl(url)}</bdi> <span class="about">{destination}</span>
        </h3>
        <label class="inline">
          How often
          <select value={times} onChange={(event) => setTimes(event.currentTarget.value)}>
            <option value="1">the next attempt</option>
            <option value="3">the next 3 attempts</option>
            <option value="10">the next 10 attempts</option>
            <option value="unlimited">until cancelled</option>
          </select>
        </label>
      </div>
      <div class="fault-groups">
        {GROUPS.map(([title, meaning, items]) => (
          <div key={title} role="group" aria-label={title}>
            <h4>{title}</h4>
            <p class="note">{meaning}</p>
            <div class="actions">
              {items
                .filter(([fault]) => known.size === 0 || known.has(fault))
                .map(([fault, label]) => (
                  <button key={fault} type="button" disabled={busy} onClick={() => void inject(fault)}>
                    {label}
                  </button>
                ))}
            </div>
          </div>
        ))}
      </div>
      {error !== "" && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
    </section>
  );
}

function Active(): JSX.Element {
  const { run } = useAction();
  const cancel = (id: number): Promise<boolean> =>
    run(async () => {
      await call("DELETE", `/faults/${id}`);
      await loadFaults();
    });
  return (
    <section class="card stack" aria-labelledby="active-title">
      <h3 id="active-title">Active faults</h3>
      {faults.value.length === 0 && <p class="note">None. Attempts are sent as they are.</p>}
      <ul class="rows-list">
        {faults.value.map(({ id, fault, scope, remaining }) => (
          <li key={id}>
            <strong>{fault.replaceAll("_", " ")}</strong>
            <span>{scope.endpoint === undefined ? "any endpoint" : shortUrl(scope.endpoint)}</span>
            <span class="note">{remaining === "unlimited" ? "until cancelled" : `${remaining} more`}</span>
            <span class="grow" />
            <button type="button" onClick={() => void cancel(id)}>
              Cancel<span class="visually-hidden"> {fault}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

const SHOWN = 10;

/** What the last faults have shown. */
function Verdicts(): JSX.Element {
  void list.version.value;
  const struck = list.rows
    .slice(0, 2_000)
    .filter((row) => row !== undefined && row.fault !== "")
    .slice(0, SHOWN);
  return (
    <section class="card stack" aria-labelledby="verdicts-title">
      <h3 id="verdicts-title">What they have shown</h3>
      {struck.length === 0 && (
        <p class="note">Inject a fault, then send a message: the verdict appears here.</p>
      )}
      <ul class="rows-list">
        {struck.map((row) => {
          const facts = row && factsOf(row);
          if (!row || !facts) return null;
          return (
            <li key={row.id}>
              <Mark {...attemptVerdict(facts, true)} />
              <span>{row.fault.replaceAll("_", " ")}</span>
              <span class="note">{shortUrl(row.endpoint)}</span>
              <span class="grow" />
              <a href={hrefOf("deliveries", { id: row.id })}>
                See<span class="visually-hidden"> the delivery of {row.identity}</span>
              </a>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
