import type { JSX } from "preact";
import { list } from "../../data/app-state.ts";
import { Card } from "../../parts/card.tsx";
import { Mark } from "../../parts/mark.tsx";
import { hrefOf } from "../../route/route.ts";
import { shortUrl } from "../../words/format.ts";
import { attemptVerdict, factsOf } from "../../words/words.ts";

const SHOWN = 10;

/** What the last faults have shown. */
export function Verdicts(): JSX.Element {
  void list.version.value;
  const struck = list.rows
    .slice(0, 2_000)
    .filter((row) => row !== undefined && row.fault !== "")
    .slice(0, SHOWN);
  return (
    <Card title="Results of the last faults">
      {struck.length === 0 && (
        <p class="note">Inject a fault, then send a message: the verdict appears here.</p>
      )}
      <ul class="rows-list">
        {struck.map((row) => {
          const facts = row && factsOf(row);
          if (!row || !facts) return null;
          return (
            <li key={row.id}>
              <Mark {...attemptVerdict(facts, true)} />
              <span>{row.fault.replaceAll("_", " ")}</span>
              <span class="note">{shortUrl(row.endpoint)}</span>
              <span class="grow" />
              <a href={hrefOf("deliveries", { id: row.id })}>
                See<span class="visually-hidden"> the delivery of {row.identity}</span>
              </a>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
