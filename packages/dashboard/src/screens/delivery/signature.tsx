import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { post } from "../../data/api.ts";
import type { Attempt, DeliveryDetail } from "../../shapes/types.ts";
import { useLive } from "../../parts/hooks.ts";
import { useAction } from "../../parts/use-action.tsx";
import { Field } from "../../parts/field.tsx";
import { Mark } from "../../parts/mark.tsx";
import { said } from "../../parts/said.tsx";
import { bytes } from "../../words/format.ts";
import { bytesOf, hex } from "./hex.ts";

interface Verification {
  readonly matches: boolean;
  readonly sentence: string;
  readonly diagnoses: readonly { readonly code: string; readonly message: string }[];
  readonly expected?: string;
}

interface Props {
  readonly delivery: DeliveryDetail;
  readonly attempt: Attempt | undefined;
  readonly index: number;
}

const FIRST_BYTES = 12;

/** How the bytes become the signature, step by step, and where a receiver's own differs. */
export function Signature({ delivery, attempt, index }: Props): JSX.Element {
  const [open, setOpen] = useState(false);
  const sent = attempt?.requestHeaders?.["X-Signature"] ?? "";
  return (
    <section aria-label="Signature">
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <h3>Check the signature</h3>
        </summary>
        {open && (
          <>
            <Steps key={index} delivery={delivery} attempt={attempt} index={index} sent={sent} />
            {/* What is typed stays when another attempt follows, unless its signature differs. */}
            <OwnCheck key={sent} body={delivery.body} sent={sent} />
          </>
        )}
      </details>
    </section>
  );
}

function Steps({ delivery, attempt, index, sent }: Props & { readonly sent: string }): JSX.Element {
  const { signature } = delivery;
  const verified = useLive(
    async () => attempt && post<Verification>("/verify", { delivery: delivery.id, attempt: index }),
    [],
    0,
  );
  const body = bytesOf(delivery);
  return (
    <>
      <ol class="steps">
        <li>
          <h4>The body, as bytes</h4>
          <p>
            {bytes(body.length)}, unchanged, without parsing:{" "}
            <code>
              {hex(body.subarray(0, FIRST_BYTES)).join(" ")}
              {body.length > FIRST_BYTES && " …"}
            </code>
          </p>
        </li>
        <li>
          <h4>The key</h4>
          <p>
            {signature === undefined
              ? "The destination has no shared secret: messages are not signed."
              : "The shared secret of the destination, as UTF-8. It does not leave the server."}
          </p>
        </li>
        {(signature ?? verified?.expected) !== undefined && (
          <li>
            <h4>HMAC-SHA1, in hexadecimal</h4>
            <p>
              <code class="hash">{signature ?? verified?.expected}</code> by the secret of today
            </p>
          </li>
        )}
        <li>
          <h4>As sent, in X-Signature</h4>
          <p>
            {sent === "" ? "This attempt had no signature." : <Compared sent={sent} expected={signature} />}
          </p>
        </li>
      </ol>
      {verified && <Findings {...verified} />}
    </>
  );
}

/** A signature, with what differs from the expected one marked. */
function Compared({
  sent,
  expected,
}: {
  readonly sent: string;
  readonly expected: string | undefined;
}): JSX.Element {
  if (expected === undefined || sent === expected) {
    return (
      <>
        <code class="hash">{sent}</code> {expected && <Mark tone="good" word="the same" />}
      </>
    );
  }
  const at = Array.from(sent).findIndex((character, index) => character !== expected[index]);
  return (
    <>
      <code class="hash">
        {sent.slice(0, at)}
        <mark>{sent.slice(at)}</mark>
      </code>{" "}
      <Mark tone="bad" word={`differs from digit ${at + 1} on`} />
    </>
  );
}

function Findings({ matches, sentence, diagnoses }: Verification): JSX.Element {
  return (
    <div class="findings card" role="status">
      <p>
        <Mark tone={matches ? "good" : "bad"} word={matches ? "matches" : "does not match"} />{" "}
        {said(sentence)}
      </p>
      {diagnoses.length > 0 && (
        <ul>
          {diagnoses.map(({ code, message }) => (
            <li key={code}>{said(message)}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Finds out why a receiver computes another signature: with its secret, and with the body that it saw. */
function OwnCheck({ body, sent }: { readonly body: string; readonly sent: string }): JSX.Element {
  const [secret, setSecret] = useState("");
  const [seen, setSeen] = useState(body);
  const [result, setResult] = useState<Verification>();
  const { run, failure } = useAction();
  const submit = (): void =>
    run(async () => setResult(await post<Verification>("/verify", { body: seen, signature: sent, secret })));
  return (
    <form class="stack" onSubmit={submit}>
      <h4>The receiver says that it does not match?</h4>
      <p class="note">Enter what the receiver has. It is compared on this server, and not kept.</p>
      <Field label="Its secret" type="password" required value={secret} onInput={setSecret} />
      <Field label="The body that it saw" rows={3} value={seen} onInput={setSeen} />
      <div class="actions">
        <button type="submit" disabled={!sent}>
          Find the difference
        </button>
        {failure}
      </div>
      {result && <Findings {...result} />}
    </form>
  );
}
