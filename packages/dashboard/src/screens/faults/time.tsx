import type { JSX } from "preact";
import { post } from "../../data/api.ts";
import { clock, loadClock, serverNow } from "../../data/app-state.ts";
import type { Clock } from "../../shapes/types.ts";
import { Card } from "../../parts/card.tsx";
import { useLive } from "../../parts/hooks.ts";
import { useAction } from "../../parts/use-action.tsx";
import { duration, exactTime } from "../../words/format.ts";

const STEPS = [
  ["10m", "10 min"],
  ["1h", "1 h"],
  ["4h", "4 h"],
] as const;

const AGAIN_MS = 300;

/** The time, and buttons that advance it where it is virtual. */
export function Time(): JSX.Element {
  const { run, failure } = useAction();
  useLive(loadClock, ["retrying", "delivered", "expired"], AGAIN_MS);
  const now = clock.value;
  if (now?.kind !== "virtual") {
    return (
      <Card title="Time">
        <p>
          Start the server with <code>--virtual-clock</code> to run four hours of retries by a button.
        </p>
      </Card>
    );
  }
  const advance = (step: string): void =>
    run(async () => {
      await post<Clock>("/clock", { advance: step });
      await loadClock();
    });
  const next = now.nextDueAt === undefined ? undefined : Date.parse(now.nextDueAt) - serverNow();
  return (
    <Card title="Virtual time">
      <p class="big">{exactTime(serverNow())}</p>
      <p class="note" role="status">
        {now.advancingTo !== undefined
          ? `Advancing to ${exactTime(now.advancingTo)}…`
          : next === undefined
            ? "Nothing waits for a retry."
            : `The next retry is in ${duration(next)}.`}
      </p>
      <div class="actions" role="group" aria-label="Advance the time">
        <button type="button" class="primary" disabled={next === undefined} onClick={() => advance("next")}>
          To the next retry
        </button>
        {STEPS.map(([step, label]) => (
          <button key={step} type="button" onClick={() => advance(step)}>
            + {label}
          </button>
        ))}
        {failure}
      </div>
    </Card>
  );
}
