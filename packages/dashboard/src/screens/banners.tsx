import type { ComponentChildren, JSX } from "preact";
import { failing, forgeries, serverNow, status } from "../data/app-state.ts";
import { Sign } from "../parts/mark.tsx";
import { hrefOf } from "../route/route.ts";
import { clockTime, shortUrl, wordsOf } from "../words/format.ts";
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
      {[...forgeries.value.values()].map(({ endpoint, fault, status, delivery }) => (
        <Banner
          key={endpoint}
          tone="loud"
          title="Accepted a forgery"
          link={<a href={hrefOf("deliveries", { id: delivery })}>See it</a>}
        >
          {endpoint} answered {status} to a forged message ({wordsOf(fault)}). Anyone who knows this URL can
          send it messages.
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
    <ul>
      {failing.value.map(({ url, destination, failingSince = "" }) => (
        <li key={url + destination} class="actions">
          <strong>Failing since {clockTime(failingSince, serverNow())}</strong>
          <span>
            {shortUrl(url)} ({destination})
          </span>
          <a href={hrefOf("deliveries", { destination, state: LEFT })}>See what is left</a>
        </li>
      ))}
    </ul>
  );
  if (length === 0) return null;
  return (
    <div class="banner bad" role="alert">
      <Sign tone="bad" />
      {length > 1 ? (
        <details>
          <summary>
            <strong>{length} endpoints are failing</strong>
          </summary>
          {list}
        </details>
      ) : (
        list
      )}
    </div>
  );
}

interface Props {
  readonly tone: Tone;
  readonly title: string;
  readonly link?: JSX.Element;
  readonly children: ComponentChildren;
}

function Banner({ tone, title, link, children }: Props): JSX.Element {
  return (
    <div class={`banner ${tone}`} role={tone === "warn" ? undefined : "alert"}>
      <Sign tone={tone} />
      <p>
        <strong>{title}</strong>
        <span>{children}</span>
      </p>
      {link}
    </div>
  );
}
