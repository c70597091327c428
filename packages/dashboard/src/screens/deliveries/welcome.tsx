import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { endpoints, sources } from "../../data/app-state.ts";
import { get, post } from "../../data/api.ts";
import type { Reachability, Receipt } from "../../shapes/types.ts";
import { CopyButton } from "../../parts/copy.tsx";
import { MANY } from "../../parts/many.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { Mark } from "../../parts/mark.tsx";
import { change } from "../../route/route.ts";
import { shortUrl } from "../../words/format.ts";

/** What the list shows before the first delivery: how to send one, and whether the receiver answers. */
export function Welcome(): JSX.Element {
  const host = location.origin;
  // With a key that no source has, a call is refused. A key that is hidden has to be filled in.
  const key = JSON.stringify(sources.value[0]?.writeKey ?? "any");
  const steps = [
    ["Point a client library at this server", `new Analytics({ writeKey: ${key}, host: "${host}" })`],
    [
      "Or send a call by hand",
      `curl -d '{"writeKey":${key},"userId":"u1","event":"Hello"}' -H 'Content-Type: application/json' ${host}/v1/track`,
    ],
    ["Verify the webhooks", `app.post("/webhooks", verifyWebhook({ secret }), handler)`],
  ] as const;
  return (
    <div class="welcome">
      <h2>No deliveries yet</h2>
      <p>Each call that a client sends here appears in this list, with every attempt.</p>
      <ol class="steps">
        {steps.map(([title, code]) => (
          <li key={title}>
            <h3>{title}</h3>
            <div class="code-line actions">
              <code>{code}</code>
              <CopyButton text={code} what="the line">
                Copy
              </CopyButton>
            </div>
          </li>
        ))}
      </ol>
      <FirstMessage />
      {/* The server would open a connection to each, again and again. */}
      {endpoints.value.length <= MANY && <Receivers />}
    </div>
  );
}

function FirstMessage(): JSX.Element {
  const { run, failure } = useAction();
  const send = (): void =>
    run(async () => {
      const call = { type: "track", userId: "u1", event: "Hello", properties: { from: "the dashboard" } };
      const { deliveries } = await post<Receipt>("/messages", call);
      if (deliveries[0] !== undefined) change({ id: deliveries[0] });
    });
  return (
    <p class="actions">
      <button type="button" class="primary" onClick={send}>
        Send a first message
      </button>
      {failure}
    </p>
  );
}

/** Whether something listens at each endpoint. */
function Receivers(): JSX.Element | null {
  const [found, setFound] = useState<readonly Reachability[]>([]);
  const urls = endpoints.value.map(({ url }) => url).join(" ");
  useEffect(() => {
    let current = true;
    const look = (): void =>
      void get<readonly Reachability[]>("/reachability").then(
        (answer) => current && setFound(answer),
        () => current && setFound([]),
      );
    look();
    const timer = setInterval(look, 5_000);
    return () => {
      current = false;
      clearInterval(timer);
    };
  }, [urls]);
  if (found.length === 0) return null;
  return (
    <ul aria-label="Receivers">
      {found.map(({ url, reachable, message, code }) => (
        <li key={url}>
          <Mark
            tone={reachable ? "good" : "warn"}
            word={
              shortUrl(url) +
              (reachable
                ? " answers"
                : ` does not answer (${code ?? message ?? "no connection"}). Start the receiver: the waiting messages are then delivered.`)
            }
          />
        </li>
      ))}
    </ul>
  );
}
