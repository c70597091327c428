import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isTried, serverNow, settingsOf, status, verdictOf } from "../../data/app-state.ts";
import type { DeliveryDetail } from "../../shapes/types.ts";
import { CopyButton } from "../../parts/copy.tsx";
import { useTick } from "../../parts/hooks.ts";
import { Mark, Sign } from "../../parts/mark.tsx";
import { Pairs } from "../../parts/pairs.tsx";
import { said } from "../../parts/said.tsx";
import { change, hrefOf } from "../../route/route.ts";
import { clockTime, duration, exactTime, visible, ZONE } from "../../words/format.ts";
import { focusList, takeFocus } from "../../parts/list-focus.ts";
import { useKey } from "../keys.tsx";
import { Actions } from "./actions.tsx";
import { Attempts } from "./attempts.tsx";
import { Body } from "./body.tsx";
import { Lanes } from "./lanes.tsx";
import { Repeats } from "./repeats.tsx";
import { Signature } from "./signature.tsx";
import { useDelivery } from "./use-delivery.ts";

/** Closes the detail, and goes back to its row. */
function back(): void {
  change({ id: "" });
  focusList();
}

/** Everything about one delivery. */
export function Detail({ id }: { readonly id: string }): JSX.Element {
  const { delivery, error } = useDelivery(id);
  useKey("Escape", back);
  return (
    <section class="detail" aria-label="Delivery">
      {delivery ? (
        <Content delivery={delivery} />
      ) : (
        <div class="empty" role={error === undefined ? undefined : "alert"}>
          <p>{said(error ?? "Reading…")}</p>
          <button type="button" onClick={back}>
            Back to the list
          </button>
        </div>
      )}
    </section>
  );
}

function Content({ delivery }: { readonly delivery: DeliveryDetail }): JSX.Element {
  const { history } = delivery;
  const { signed } = settingsOf(delivery.destination);
  const [chosen, setChosen] = useState<number>();
  const selected = Math.min(chosen ?? history.length - 1, history.length - 1);
  return (
    <>
      <Head delivery={delivery} />
      <Actions delivery={delivery} />
      <Repeats delivery={delivery} />
      {history.length > 0 && (
        <section aria-label="Attempts">
          <h3>
            Attempts <span class="about">times in {ZONE}</span>
          </h3>
          <Lanes history={history} signed={signed} selected={selected} onSelect={setChosen} />
          <Attempts history={history} signed={signed} selected={selected} onSelect={setChosen} />
        </section>
      )}
      <Body delivery={delivery} />
      <Signature delivery={delivery} attempt={history[selected]} index={selected} />
      <Facts delivery={delivery} />
    </>
  );
}

function Head({ delivery }: { readonly delivery: DeliveryDetail }): JSX.Element {
  const { type, event, identity, why, advice } = delivery;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (takeFocus()) heading.current?.focus();
  }, [delivery.id]);
  const verdict = verdictOf(delivery);
  return (
    <header class={`detail-head ${verdict.tone}`}>
      <div class="detail-title">
        <h2 ref={heading} tabIndex={0}>
          {type} {event !== undefined && <bdi>“{visible(event)}”</bdi>} <span class="about">for</span>{" "}
          <bdi>{visible(identity)}</bdi>
        </h2>
        <button type="button" class="quiet" onClick={back}>
          Close <kbd>Esc</kbd>
        </button>
      </div>
      <p class="why">
        <Mark {...verdict} /> <span>{said(why)}</span>
      </p>
      {advice !== undefined && (
        <p class="advice">
          <Sign tone="plain" /> {said(advice)}
        </p>
      )}
      <NextTry delivery={delivery} />
    </header>
  );
}

function NextTry({ delivery }: { readonly delivery: DeliveryDetail }): JSX.Element | null {
  const { dueAt, acceptedAt } = delivery;
  const waits = dueAt !== undefined && isTried(delivery);
  useTick(waits);
  if (!waits) return null;
  const left = Date.parse(dueAt) - serverNow();
  const until = Date.parse(acceptedAt) + status.value.retryWindowMs;
  return (
    <p>
      Next try{" "}
      <span class="big" role="timer">
        {left > 0 ? `in ${duration(Math.ceil(left / 1_000) * 1_000)}` : "now"}
      </span>
      ; retries end at {clockTime(until, serverNow())}.
    </p>
  );
}

/** A time as it is here, and as logs of servers have it. */
function inBothZones(time: string): JSX.Element {
  return (
    <>
      {exactTime(time)} <span class="about">{time}</span>
    </>
  );
}

function Facts({ delivery }: { readonly delivery: DeliveryDetail }): JSX.Element {
  const { id, messageId, source, destination, acceptedAt, endedAt, identity, curls } = delivery;
  return (
    <section aria-label="Facts">
      <h3>Facts</h3>
      <Pairs
        kind="facts"
        entries={[
          ["Delivery", <code>{id}</code>],
          ["Message", <code>{visible(messageId)}</code>],
          [
            "User",
            <a href={hrefOf("deliveries", { identity })}>
              <bdi>{visible(identity)}</bdi>
            </a>,
          ],
          ["From, to", `${source} → ${destination}`],
          ["Accepted", inBothZones(acceptedAt)],
          endedAt !== undefined && ["Ended", inBothZones(endedAt)],
        ]}
      />
      {curls.length > 1 && (
        <p class="actions">
          {curls.map(({ endpoint, curl }) => (
            <CopyButton key={endpoint} text={curl} what="the curl command">
              {`Copy curl for ${endpoint}`}
            </CopyButton>
          ))}
        </p>
      )}
    </section>
  );
}
