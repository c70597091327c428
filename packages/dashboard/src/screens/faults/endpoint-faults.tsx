import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { post } from "../../data/api.ts";
import { loadFaults } from "../../data/app-state.ts";
import type { Fault } from "../../shapes/types.ts";
import { Choice } from "../../parts/choice.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { shortUrl } from "../../words/format.ts";

/** What each fault does, in a word or two, by what it tests. */
const GROUPS: readonly (readonly [string, string, readonly (readonly [string, string])[]])[] = [
  [
    "Forgeries",
    "A receiver must refuse these.",
    [
      ["bad_signature", "Wrong signature"],
      ["missing_signature", "No signature"],
      ["stale_secret", "Retired secret"],
    ],
  ],
  [
    "Outages",
    "The delivery is retried.",
    [
      ["status:503", "503"],
      ["timeout", "No answer in time"],
      ["refused", "Connection refused"],
      ["reset", "Connection reset"],
    ],
  ],
  [
    "Transport",
    "A receiver must handle these once, and correctly.",
    [
      ["duplicate", "Sent twice"],
      ["reorder", "Out of order"],
      ["slow_body", "Slow body"],
      ["truncated", "Cut body"],
      ["oversize", "Over 1 MiB"],
    ],
  ],
];

const TIMES = [
  ["1", "the next attempt"],
  ["3", "the next 3 attempts"],
  ["10", "the next 10 attempts"],
  ["unlimited", "until cancelled"],
] as const;

interface EndpointProps {
  readonly url: string;
  readonly destination: string;
}

/** The faults that can be injected into the attempts to one endpoint. */
export function EndpointFaults({ url, destination }: EndpointProps): JSX.Element {
  const [times, setTimes] = useState("1");
  const { run, failure } = useAction();
  const inject = (fault: string): void =>
    run(async () => {
      await post<Fault>("/faults", {
        fault,
        endpoint: url,
        times: times === "unlimited" ? times : Number(times),
      });
      await loadFaults();
    });
  return (
    <section class="card stack" aria-label={`Faults of ${url}`}>
      <div class="section-head">
        <h3>
          <bdi>{shortUrl(url)}</bdi> <span class="about">{destination}</span>
        </h3>
        <Choice label="How often" value={times} options={TIMES} onPick={setTimes} />
      </div>
      <div class="fault-groups">
        {GROUPS.map(([title, meaning, items]) => (
          <div key={title} role="group" aria-label={title}>
            <h4>{title}</h4>
            <p class="note">{meaning}</p>
            <div class="actions">
              {items.map(([fault, label]) => (
                <button key={fault} type="button" onClick={() => inject(fault)}>
                  {label}
                </button>
              ))}
            </div>
          </div>
        ))}
      </div>
      {failure}
    </section>
  );
}
