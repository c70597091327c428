import type { JSX } from "preact";
import { forgeries, status, store } from "../data/app-state.ts";
import { Sign } from "../parts/mark.tsx";
import { hrefOf } from "../route/route.ts";

const STORE_WORDS = {
  up: "",
  down: "The store does not answer. Calls are refused until it does.",
  full: "The store is full. Calls are refused until deliveries end, or you raise --max-bytes.",
  unsafe: "The store may lose accepted calls.",
} as const;

/** What has to be seen on every screen: a receiver that accepts forgeries, and a store in trouble. */
export function Banners(): JSX.Element {
  const { state, reason } = store.value;
  return (
    <div class="banners">
      {[...forgeries.value.values()].map(({ endpoint, fault, status, delivery }) => (
        <div key={endpoint} class="banner loud" role="alert">
          <Sign tone="loud" />
          <p>
            <strong>Accepted a forgery</strong>
            <span>
              {endpoint} answered {status} to a message with {faultWords(fault)}. Anyone who knows this URL
              can send it messages.
            </span>
          </p>
          <a href={hrefOf("deliveries", { id: delivery })}>See it</a>
        </div>
      ))}
      {state !== "up" && (
        <div class="banner bad" role="alert">
          <Sign tone="bad" />
          <p>
            <strong>Store: {state}</strong>
            <span>
              {STORE_WORDS[state]} {reason}
            </span>
          </p>
        </div>
      )}
      {status.value?.delivers === false && (
        <div class="banner warn">
          <Sign tone="warn" />
          <p>
            <strong>This server only accepts</strong>
            <span>Another process must deliver the calls that it stores. {reason}</span>
          </p>
        </div>
      )}
    </div>
  );
}

function faultWords(fault: string): string {
  if (fault === "missing_signature") return "no signature";
  return fault === "stale_secret" ? "the signature of a retired secret" : "a wrong signature";
}
