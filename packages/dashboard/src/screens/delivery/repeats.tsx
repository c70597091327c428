import { signal } from "../../signals/signals.ts";
import type { JSX } from "preact";
import { verdictOf } from "../../data/app-state.ts";
import type { DeliveryDetail } from "../../shapes/types.ts";
import { focusNext } from "../../parts/list-focus.ts";
import { Mark } from "../../parts/mark.tsx";
import { said } from "../../parts/said.tsx";
import { hrefOf } from "../../route/route.ts";
import { resendVerdict } from "../../words/words.ts";
import { useDelivery } from "./use-delivery.ts";

/** What was resent from this page: the newest repeat of each delivery. */
export const resent = signal<ReadonlyMap<string, string>>(new Map());

/** How a delivery compares with the one it repeats, and with the one that repeats it. */
export function Repeats({ delivery }: { readonly delivery: DeliveryDetail }): JSX.Element | null {
  const repeat = useDelivery(resent.value.get(delivery.id)).delivery;
  const { delivery: original, error } = useDelivery(delivery.resendOf);
  if (!repeat && delivery.resendOf === undefined) return null;
  return (
    <div class="repeats" role="status">
      {repeat && (
        <p>
          <Comparison before={delivery} after={repeat} />{" "}
          <a href={hrefOf("deliveries", { id: repeat.id })} onClick={focusNext}>
            See the resent one
          </a>
        </p>
      )}
      {delivery.resendOf !== undefined && (
        <p>
          {original ? <Comparison before={original} after={delivery} /> : error && said(error)}{" "}
          <a href={hrefOf("deliveries", { id: delivery.resendOf })} onClick={focusNext}>
            See the original
          </a>
        </p>
      )}
    </div>
  );
}

function standing({ state, last }: DeliveryDetail): string {
  return last ? `${state} (${last.answer})` : state;
}

function Comparison({
  before,
  after,
}: {
  readonly before: DeliveryDetail;
  readonly after: DeliveryDetail;
}): JSX.Element {
  const verdict = resendVerdict(before.state, after.state) ?? {
    ...verdictOf(after),
    word: "on its way",
  };
  return (
    <>
      <Mark {...verdict} /> Before: {standing(before)}. After the resend: {standing(after)}.
    </>
  );
}
