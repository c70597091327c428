import type { JSX } from "preact";
import { verdictOf } from "../../data/app-state.ts";
import type { Receipt } from "../../shapes/types.ts";
import { Mark } from "../../parts/mark.tsx";
import { hrefOf } from "../../route/route.ts";
import { useDelivery } from "../delivery/use-delivery.ts";
import { wordsOf } from "../../words/format.ts";

/** What became of a message that was sent from here. */
export function Sent({ receipt }: { readonly receipt: Receipt }): JSX.Element {
  const { deliveries, skipped } = receipt;
  if (deliveries.length === 0) {
    return (
      <p role="status">
        <Mark tone="warn" sign="plain" word="skipped" /> No destination gets it:{" "}
        {wordsOf(skipped ?? "none is enabled")}.
      </p>
    );
  }
  return (
    <ul role="status">
      {deliveries.map((id) => (
        <SentDelivery key={id} id={id} />
      ))}
    </ul>
  );
}

function SentDelivery({ id }: { readonly id: string }): JSX.Element {
  const { delivery } = useDelivery(id);
  const verdict = delivery && verdictOf(delivery);
  return (
    <li>
      <Mark {...(verdict ?? { tone: "wait", word: "sent" })} />{" "}
      <a href={hrefOf("deliveries", { id })}>
        {delivery ? `to ${delivery.destination}` : "See the delivery"}
      </a>
    </li>
  );
}
