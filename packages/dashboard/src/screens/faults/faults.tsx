import type { JSX } from "preact";
import { remove } from "../../data/api.ts";
import { endpoints, faults, loadFaults } from "../../data/app-state.ts";
import { useAction } from "../../parts/use-action.tsx";
import { Card } from "../../parts/card.tsx";
import { First } from "../../parts/many.tsx";
import { nameOf, shortUrl, wordsOf } from "../../words/format.ts";
import { EndpointFaults } from "./endpoint-faults.tsx";
import { Time } from "./time.tsx";
import { Verdicts } from "./verdicts.tsx";

/** Faults on demand, and control of the time. */
export function Faults(): JSX.Element {
  return (
    <div class="screen">
      <h2>Faults and time</h2>
      <Time />
      <First all={endpoints.value} noun="endpoint" textOf={nameOf}>
        {(first) => first.map((endpoint) => <EndpointFaults key={nameOf(endpoint)} {...endpoint} />)}
      </First>
      <Active />
      <Verdicts />
    </div>
  );
}

function Active(): JSX.Element {
  const { run, failure } = useAction();
  const cancel = (id: number): void =>
    run(async () => {
      await remove(`/faults/${id}`);
      await loadFaults();
    });
  return (
    <Card title="Active faults">
      {faults.value?.length === 0 && <p class="note">None. Attempts are sent as they are.</p>}
      <ul class="rows-list">
        {faults.value?.map(({ id, fault, scope, remaining }) => (
          <li key={id}>
            <strong>{wordsOf(fault)}</strong>
            <span>{scope.endpoint === undefined ? "any endpoint" : shortUrl(scope.endpoint)}</span>
            <span class="note">{remaining === "unlimited" ? "until cancelled" : `${remaining} more`}</span>
            <span class="grow" />
            <button type="button" onClick={() => cancel(id)}>
              Cancel<span class="visually-hidden"> {fault}</span>
            </button>
          </li>
        ))}
      </ul>
      {failure}
    </Card>
  );
}
