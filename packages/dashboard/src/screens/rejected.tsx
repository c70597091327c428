import type { JSX } from "preact";
import { get } from "../data/api.ts";
import type { Lost } from "../shapes/types.ts";
import { Card } from "../parts/card.tsx";
import { useLive } from "../parts/hooks.ts";
import { JsonView } from "../parts/json-view.tsx";
import { said } from "../parts/said.tsx";
import { exactTime, visible, wordsOf } from "../words/format.ts";

const AGAIN_MS = 500;
const LIMIT = 200;

/** What arrived and went nowhere, with the reason and the fix. */
export function Rejected(): JSX.Element {
  return (
    <div class="screen">
      <h2>Rejected and skipped</h2>
      <p class="lead">Newest first.</p>
      <Entries title="Rejected" path="/rejections" />
      <Entries title="Skipped" path="/skipped" />
      <Entries title="Accepted with a warning" path="/warnings" />
    </div>
  );
}

interface Props {
  readonly title: string;
  readonly path: string;
}

/** A list with what went wrong; until it was read, it says nothing of what is in it. */
function Entries({ title, path }: Props): JSX.Element {
  const answer = useLive(
    () => get<readonly Lost[] | { readonly calls: readonly Lost[] }>(path, { limit: LIMIT }),
    ["rejected", "skipped", "warned"],
    AGAIN_MS,
  );
  const found = answer && "calls" in answer ? answer.calls : answer;
  return (
    <Card title={title} about={found && (found.length < LIMIT ? found.length : `the newest ${LIMIT}`)}>
      {found?.length === 0 && <p class="note">None.</p>}
      <ul class="entries">
        {found?.map((item, index) => (
          <Entry key={item.id ?? index} {...item} />
        ))}
      </ul>
    </Card>
  );
}

/** A rejected message has a `detail`, a skipped call an `identity`, a warning `paths`. */
function Entry({
  receivedAt,
  acceptedAt = receivedAt,
  reason,
  type = "",
  source = "",
  event = "",
  identity = "",
  detail = `${event} for ${identity}`,
  paths = [],
  fix,
  message,
}: Lost): JSX.Element {
  return (
    <li>
      <p>
        <span class="time">{exactTime(acceptedAt)}</span> <strong>{wordsOf(reason)}</strong>{" "}
        <span class="note">{visible(`${type} ${source}`)}</span>
      </p>
      <p>
        <bdi>{said(`${detail} ${paths.join(", ")}`)}</bdi>
      </p>
      {fix !== undefined && <p class="fix">{said(fix)}</p>}
      {message !== undefined && (
        <details>
          <summary>The call as received</summary>
          <JsonView text={message} label="The call as received" />
        </details>
      )}
    </li>
  );
}
