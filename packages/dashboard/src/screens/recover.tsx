import { signal } from "../signals/signals.ts";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { announce } from "../data/announce.ts";
import { countDeliveries, get, post } from "../data/api.ts";
import { clock, destinations, serverNow } from "../data/app-state.ts";
import type { DeliveryPage, ResendJob, State } from "../shapes/types.ts";
import { Failure } from "../parts/failure.tsx";
import { Card } from "../parts/card.tsx";
import { Choice } from "../parts/choice.tsx";
import { useLive } from "../parts/hooks.ts";
import { MANY } from "../parts/many.tsx";
import { showJob, useAction, useJob, type Action } from "../parts/use-action.tsx";
import { Mark } from "../parts/mark.tsx";
import type { Query } from "../route/query.ts";
import { change, hrefOf, route } from "../route/route.ts";
import { clockTime, count, plural } from "../words/format.ts";
import { stateVerdict } from "../words/words.ts";
import { reasonsOf, type Reason } from "./reasons.ts";

/** The newest resend of many; it continues while other screens are shown. */
const job = signal<ResendJob | undefined>(undefined);

/** What has expired was accepted hours before, so a day is shown at first. */
const SHOWN_MS = 86_400_000;
const SAMPLE = 1_000;
const AGAIN_MS = 1_000;
const STATES: readonly State[] = ["delivered", "pending", "failed", "expired"];
const RESULTS = [...STATES, "accepted"] as const;

/** Undoes an outage or a bad release: resends what has failed, and tries what waits. */
export function Recover(): JSX.Element {
  const [chosen, setSince] = useState<string>();
  // The server's time is known once its clock was read.
  const since = chosen ?? (clock.value ? localTime(serverNow() - SHOWN_MS) : "");
  const destination = route.value.parameters.get("destination") ?? "";
  const from = Date.parse(since);
  const filter: Query = {
    state: ["failed", "expired"],
    since: from ? new Date(from).toISOString() : undefined,
    destination: destination || undefined,
  };
  const [waiting = 0, matching, reasons = []] = useFound(filter);
  // One for all of the buttons: two resends at the same time would resend the same deliveries.
  const { run, failure } = useAction();
  return (
    <div class="screen">
      <h2>Recover</h2>
      <p class="lead">
        When the receiver works again, resend what has failed, as new deliveries. What has failed stays in
        this list. What has arrived is not resent.
      </p>
      <div class="card stack">
        <div class="actions">
          <label class="inline">
            Accepted since
            <input
              type="datetime-local"
              value={since}
              onInput={(event) => setSince(event.currentTarget.value)}
            />
          </label>
          <Choice
            label="Destination"
            value={destination}
            none="all"
            options={destinations.value}
            onPick={(destination) => change({ destination })}
          />
        </div>
        <p class="big" role="status">
          {matching === undefined
            ? "…"
            : `${plural(matching, "delivery")} failed or expired${from ? "" : ", of all time"}`}
        </p>
        <div class="actions">
          <Resend label="Resend all" run={run} filter={filter} disabled={!matching} />
          <Resend
            label={`Try now: ${count(waiting)} waiting`}
            run={run}
            filter={{ ...filter, state: "pending" }}
            disabled={!waiting}
            retries
          />
          {failure}
        </div>
      </div>
      {reasons.length > 0 && (
        <Card title="By reason" about={reasons.length === MANY && `the first ${MANY}`}>
          <ul class="rows-list">
            {reasons.map(({ words, number, filter: own, destination: name }) => (
              <li key={name + words}>
                <Mark tone="bad" word={words} />
                <span>{name}</span>
                <a href={hrefOf("deliveries", { ...filter, destination: name, ...own })}>
                  {count(number)}
                  <span class="visually-hidden"> deliveries: {words}</span>
                </a>
                <span class="grow" />
                <Resend
                  label="Resend these"
                  about={words}
                  run={run}
                  filter={{ ...filter, destination: name, ...own }}
                />
              </li>
            ))}
          </ul>
        </Card>
      )}
      <Progress />
    </div>
  );
}

interface Retried {
  readonly retried: number;
  readonly waiting: number;
}

interface ResendProps extends Pick<Action, "run"> {
  readonly label: string;
  readonly about?: string;
  readonly filter: Query;
  readonly disabled?: boolean;
  /** It tries what waits instead. */
  readonly retries?: boolean;
}

function Resend({ label, about, run, filter, disabled, retries }: ResendProps): JSX.Element {
  const running = !retries && job.value?.state === "running";
  const start = (): unknown =>
    !running &&
    run(async () => {
      // In a body, the API takes a status as a number.
      const body = { filter: { ...filter, status: Number(filter["status"]) || undefined } };
      if (!retries) showJob(job, await post<ResendJob>("/deliveries/resend", body));
      else {
        const { retried, waiting } = await post<Retried>("/deliveries/retry", body);
        announce(
          `Trying ${retried - waiting} now.${waiting ? ` ${waiting} wait until their destination is enabled.` : ""}`,
        );
      }
    });
  return (
    <button
      type="button"
      class={(about ?? retries) ? "" : "primary"}
      disabled={disabled}
      aria-disabled={running}
      onClick={start}
    >
      {label}
      {about !== undefined && <span class="visually-hidden">: {about}</span>}
    </button>
  );
}

function Progress(): JSX.Element | null {
  const { stop, failure } = useJob(job, "/resends");
  const { value } = job;
  if (!value) return null;
  const { id, state, resent, matched, error, startedAt, filter } = value;
  const since: Query = { since: startedAt, destination: filter.destination };
  return (
    <section class="card stack" aria-label="Progress of the resend">
      <progress value={resent} max={Math.max(matched, 1)} aria-label="Resent" />
      <div class="actions">
        <span role="status" aria-live={state === "running" ? "off" : "polite"}>
          {state === "done" && <Mark tone="good" word="done" />} {count(resent)} of {count(matched)} resent
          {state === "cancelled" && ", then stopped"}.
        </span>
        {state === "running" && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
        <Failure text={error} />
        {failure}
        <a href={hrefOf("deliveries", since)}>See them arrive</a>
      </div>
      <Since key={id} filter={since} startedAt={startedAt} />
    </section>
  );
}

/** How it has gone since the resend began, with what clients have sent since then: whether what was corrected is correct. */
function Since({ filter, startedAt }: { readonly filter: Query; readonly startedAt: string }): JSX.Element {
  const counts = useLive(
    () => Promise.all(STATES.map((state) => countDeliveries({ ...filter, state }))),
    RESULTS,
    AGAIN_MS,
  );
  return (
    <p class="actions">
      Since {clockTime(startedAt, serverNow())}:
      {counts?.map((number, index) => {
        const state = STATES[index] as State;
        const { tone, word } = stateVerdict(state, undefined, true);
        return (
          <a key={state} href={hrefOf("deliveries", { ...filter, state })}>
            <Mark tone={number ? tone : "plain"} word={`${count(number)} ${word}`} />
          </a>
        );
      })}
    </p>
  );
}

type Found = readonly [waiting?: number, failed?: number, reasons?: readonly Reason[]];

/** How many wait, how many have failed, and why: the most frequent reasons of the newest thousand, each with all that it found. */
function useFound(failed: Query): Found {
  const found = useLive(
    async (): Promise<Found> => {
      const [waiting, number, page] = await Promise.all([
        countDeliveries({ ...failed, state: "pending" }),
        countDeliveries(failed),
        get<DeliveryPage>("/deliveries", { ...failed, limit: SAMPLE }),
      ]);
      const reasons = await Promise.all(
        reasonsOf(page)
          .slice(0, MANY)
          .map(async (reason) => {
            const { destination, filter } = reason;
            if (page.next === undefined) return reason;
            return { ...reason, number: await countDeliveries({ ...failed, destination, ...filter }) };
          }),
      );
      return [waiting, number, reasons];
    },
    RESULTS,
    AGAIN_MS,
    [JSON.stringify(failed)],
  );
  return found ?? [];
}

/** A time as the browser's field wants it. */
function localTime(time: number): string {
  const local = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}
