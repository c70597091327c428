import type { JSX } from "preact";
import { get } from "../../data/api.ts";
import { list } from "../../data/app-state.ts";
import { activeNames } from "../../data/filter.ts";
import { useLive } from "../../parts/hooks.ts";
import { said } from "../../parts/said.tsx";
import { hrefOf, route } from "../../route/route.ts";
import { count } from "../../words/format.ts";
import { Detail } from "../delivery/detail.tsx";
import { DeliveryGrid } from "./delivery-grid.tsx";
import { FilterBar, SEARCH_FINDS } from "./filter-bar.tsx";
import { Welcome } from "./welcome.tsx";

/** The list, and beside it the delivery that is selected. */
export function Deliveries(): JSX.Element {
  const id = route.value.parameters.get("id") ?? "";
  return (
    <div class={`split ${id && "with-detail"}`}>
      <section class="list-pane" aria-label="List of deliveries">
        <FilterBar />
        <List />
      </section>
      {id && <Detail key={id} id={id} />}
    </div>
  );
}

function List(): JSX.Element {
  void list.version.value;
  const state = list.state.value;
  if (state.kind === "failed") {
    return (
      <div class="empty" role="alert">
        <h2>The list cannot be read</h2>
        <p>{said(state.message)}</p>
        <button type="button" class="primary" onClick={() => void list.load(list.filter)}>
          Try again
        </button>
      </div>
    );
  }
  if (state.kind === "loading") return <div class="empty">Reading…</div>;
  if (list.rows.length > 0 || list.waiting.value > 0) return <DeliveryGrid />;
  if (activeNames(list.filter).length === 0) return <Welcome />;
  return (
    <div class="empty">
      <h2>Nothing matches</h2>
      <p>
        0 of {count(list.all.value ?? 0)} deliveries match the filters.
        {!list.rows.complete && " Older ones were not searched yet."}
      </p>
      {list.filter.q && <p>{SEARCH_FINDS}</p>}
      {!list.rows.complete && (
        <button type="button" onClick={() => void list.more()}>
          Search older ones
        </button>
      )}
      <a class="button" href={hrefOf("deliveries")}>
        Clear the filters
      </a>
      <Elsewhere />
    </div>
  );
}

const AGAIN_MS = 500;

/** Where a call is that was rejected: it is no delivery, so that no filter finds it. */
function Elsewhere(): JSX.Element | null {
  const found = useLive(() => get<readonly unknown[]>("/rejections", { limit: 1 }), ["rejected"], AGAIN_MS);
  if (!found?.length) return null;
  return (
    <p>
      Calls that were not accepted are in <a href={hrefOf("rejected")}>Rejected & skipped</a>.
    </p>
  );
}
