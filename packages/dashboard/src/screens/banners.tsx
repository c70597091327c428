import type { ComponentChildren, JSX } from "preact";
import { failing, serverNow, stats, status } from "../data/app-state.ts";
import { First } from "../parts/many.tsx";
import { Sign } from "../parts/mark.tsx";
import { hrefOf } from "../route/route.ts";
import { clockTime, nameOf, plural, shortUrl, wordsOf } from "../words/format.ts";
import type { Tone } from "../words/words.ts";

/** The states of what a failing endpoint has not got. */
const LEFT = ["pending", "failed", "expired"];

const STORE_WORDS = {
  up: "",
  down: "The store does not answer. Calls are refused until it does.",
  full: "The store is full. Calls are refused until deliveries end, or you raise --max-bytes.",
  unsafe: "The store may lose accepted calls.",
} as const;

/** What has to be seen on every screen: a receiver that accepts forgeries, one that fails, and a store in trouble. */
export function Banners(): JSX.Element {
  const { delivers, store } = status.value;
  const { state, reason } = store;
  return (
    <div class="banners">
      {stats.value?.forgeries.map(({ fault, status, delivery, ...endpoint }) => (
        <Banner
          key={nameOf(endpoint) + fault}
          tone="loud"
          title="Accepted a forgery"
          links={
            <>
              {delivery && <a href={hrefOf("deliveries", { id: delivery })}>See it</a>}
              <a href={hrefOf("certify", { receiver: nameOf(endpoint) })}>Certify it</a>
            </>
          }
        >
          {endpoint.url} answered {status} to a forged message ({wordsOf(fault)}). Anyone who knows this URL
          can send it messages. To prove a correction, certify it
          {delivery && ", or resend this with the same fault"}.
        </Banner>
      ))}
      {state !== "up" && (
        <Banner tone="bad" title={`Store: ${state}`}>
          {STORE_WORDS[state]} {reason}
        </Banner>
      )}
      <Failing />
      {!delivers && (
        <Banner tone="warn" title="This server only accepts">
          Another process must deliver the calls that it stores. {state === "up" && reason}
        </Banner>
      )}
    </div>
  );
}

/** The endpoints that fail. Several are one line until it is opened: what is below must not be pushed out of sight. */
function Failing(): JSX.Element | null {
  const { length } = failing.value;
  const list = (
    <First all={failing.value} noun="endpoint" textOf={nameOf}>
      {(first) => (
        <ul>
          {first.map(({ url, destination, failingSince = "", lastFailure }) => (
            <li key={nameOf({ url, destination })} class="actions">
              <strong>Failing since {clockTime(failingSince, serverNow())}</strong>
              {/* Not told again whenever a number changes. */}
              <span aria-live="off">
                {shortUrl(nameOf({ url, destination }))}: {lastFailure?.answer}
                {leftOf(destination)}
              </span>
              <a href={hrefOf("deliveries", { destination, state: LEFT })}>See what is left</a>
              <a href={hrefOf("recover", { destination })}>Recover them</a>
            </li>
          ))}
        </ul>
      )}
    </First>
  );
  if (length === 0) return null;
  return (
    <Banner tone="bad">
      {length > 1 ? (
        <details>
          <summary>
            <strong>{plural(length, "endpoint")} are failing</strong>
          </summary>
          {list}
        </details>
      ) : (
        list
      )}
    </Banner>
  );
}

/** How many deliveries wait, when the first of them expires, and how many have failed for good. */
function leftOf(destination: string): string {
  const found = stats.value?.destinations.find((one) => one.destination === destination);
  if (!found) return "";
  const { pending, oldestPendingAt = "", failed, expired } = found;
  const until = Date.parse(oldestPendingAt) + status.value.retryWindowMs;
  const waiting = until
    ? `. ${plural(pending, "delivery")} waiting, the first expires at ${clockTime(until, serverNow())}`
    : "";
  return failed + expired ? `${waiting}. ${plural(failed + expired, "delivery")} failed or expired` : waiting;
}

interface Props {
  readonly tone: Tone;
  /** Without one, the children are all of it. */
  readonly title?: string;
  readonly links?: JSX.Element;
  readonly children: ComponentChildren;
}

function Banner({ tone, title, links, children }: Props): JSX.Element {
  return (
    <div class={`banner ${tone}`} role={tone === "warn" ? undefined : "alert"}>
      <Sign tone={tone} />
      {title === undefined ? (
        children
      ) : (
        <p>
          <strong>{title}</strong>
          <span>{children}</span>
        </p>
      )}
      {links}
    </div>
  );
}
