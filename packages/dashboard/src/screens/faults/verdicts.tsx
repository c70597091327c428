import type { JSX } from "preact";
import { list, settingsOf } from "../../data/app-state.ts";
import { Card } from "../../parts/card.tsx";
import { Mark } from "../../parts/mark.tsx";
import { hrefOf } from "../../route/route.ts";
import { shortUrl, wordsOf } from "../../words/format.ts";
import { attemptVerdict } from "../../words/words.ts";

const SHOWN = 10;

/** What the last faults have shown. */
export function Verdicts(): JSX.Element {
  void list.version.value;
  const struck = list.rows
    .slice(0, 2_000)
    .flatMap((row) => (row?.last?.fault === undefined ? [] : [{ ...row, ...row.last }]))
    .slice(0, SHOWN);
  return (
    <Card title="Results of the last faults">
      {struck.length === 0 && (
        <p class="note">Inject a fault, then send a message: the verdict appears here.</p>
      )}
      <ul class="rows-list">
        {struck.map((attempt) => (
          <li key={attempt.id}>
            <Mark {...attemptVerdict(attempt, settingsOf(attempt.destination).signed)} />
            <span>{wordsOf(attempt.fault ?? "")}</span>
            <span class="note">{shortUrl(attempt.endpoint)}</span>
            <span class="grow" />
            <a href={hrefOf("deliveries", { id: attempt.id })}>
              See<span class="visually-hidden"> the delivery of {attempt.identity}</span>
            </a>
          </li>
        ))}
      </ul>
    </Card>
  );
}
