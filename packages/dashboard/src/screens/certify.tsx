import { signal } from "../signals/signals.ts";
import type { JSX } from "preact";
import { post } from "../data/api.ts";
import { endpoints } from "../data/app-state.ts";
import type { AuditResult, Certification } from "../shapes/types.ts";
import { Failure } from "../parts/failure.tsx";
import { Choice } from "../parts/choice.tsx";
import { showJob, useJob } from "../parts/use-action.tsx";
import { Mark } from "../parts/mark.tsx";
import { Pairs } from "../parts/pairs.tsx";
import { said } from "../parts/said.tsx";
import { change, route } from "../route/route.ts";
import { clockTime, nameOf, shortUrl, visible } from "../words/format.ts";
import type { Tone } from "../words/words.ts";

/** The newest certification of the server; it continues while other screens are shown. */
const shown = signal<Certification | undefined>(undefined);

const TONES: Readonly<Record<AuditResult["outcome"], Tone>> = {
  passed: "good",
  failed: "bad",
  skipped: "plain",
};

/** Audits a receiver, live. */
export function Certify(): JSX.Element {
  const chosen = route.value.parameters.get("receiver");
  const { run, stop, failure } = useJob(shown, "/certifications");
  // Where the one that the URL names has gone, no other gets its messages.
  const target = endpoints.value.find((endpoint) => chosen === null || nameOf(endpoint) === chosen);
  const current = shown.value;
  const running = current?.state === "running";
  const start = (): void =>
    run(async () => {
      if (!target) return;
      const body = { destination: target.destination, endpoint: target.url };
      showJob(shown, await post<Certification>("/certify", body));
    });
  return (
    <div class="screen">
      <h2>Certify</h2>
      <p class="lead">
        Sends well over a hundred messages: some that a receiver must accept, and forged and broken ones that
        it must refuse. It handles those that it accepts like any other.
      </p>
      <div class="card stack">
        <div class="actions">
          <Choice
            label="Receiver"
            value={chosen ?? (target ? nameOf(target) : "")}
            options={endpoints.value.map((endpoint) => [nameOf(endpoint), shortUrl(nameOf(endpoint))])}
            onPick={(receiver) => change({ receiver })}
          />
          {running ? (
            <button type="button" onClick={stop}>
              Stop
            </button>
          ) : (
            <button type="button" class="primary" disabled={!target} onClick={start}>
              Certify
            </button>
          )}
        </div>
        {failure}
      </div>
      {current && <Results certification={current} />}
    </div>
  );
}

function Results({ certification }: { readonly certification: Certification }): JSX.Element {
  const { url, state, startedAt, total, only, results, error } = certification;
  const [failed, passed, skipped] = (["failed", "passed", "skipped"] as const).map((wanted) =>
    results.filter(({ outcome }) => outcome === wanted),
  ) as [AuditResult[], AuditResult[], AuditResult[]];
  const musts = failed.filter(({ level }) => level === "MUST").length;
  const verdict: { readonly tone: Tone; readonly word: string } =
    state === "running"
      ? { tone: "wait", word: `${results.length} of ${total} audits` }
      : state === "done" && musts === 0
        ? { tone: "good", word: only ? "passed" : "certified" }
        : { tone: "bad", word: state === "done" ? "not certified" : state };
  return (
    <section class="card stack" aria-label="Results">
      <h3>
        <bdi>{shortUrl(url)}</bdi> <span class="about">{clockTime(startedAt, Date.now())}</span>
      </h3>
      <progress value={results.length} max={total} aria-label="Audits that have run" />
      <p role="status" aria-live={state === "running" ? "off" : "polite"}>
        <Mark {...verdict} /> {passed.length} passed, {failed.length} failed, {skipped.length} skipped.
      </p>
      <Failure text={error} />
      <ul class="audits">
        {[...failed, ...passed, ...skipped].map((result) => (
          <Audit key={result.id} result={result} />
        ))}
      </ul>
    </section>
  );
}

function Audit({ result }: { readonly result: AuditResult }): JSX.Element {
  const { level, title, outcome, failure, reason } = result;
  const head = (
    <>
      <Mark tone={TONES[outcome]} word={outcome} /> <span class="note">{level}</span> <span>{title}</span>
      {reason !== undefined && <span class="note"> ({reason})</span>}
    </>
  );
  if (!failure) return <li>{head}</li>;
  return (
    <li>
      <details>
        <summary>{head}</summary>
        <p>{said(failure.cause)}</p>
        <Pairs
          kind="exchange"
          entries={(["sent", "expected", "received"] as const).map((name) => [
            name,
            <pre class="code exact" tabIndex={0}>
              {visible(failure[name])}
            </pre>,
          ])}
        />
        <p class="fix">{said(failure.fix)}</p>
      </details>
    </li>
  );
}
