import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isTried, status } from "../../data/app-state.ts";
import { announce } from "../../data/announce.ts";
import { post } from "../../data/api.ts";
import type { DeliveryDetail, Receipt } from "../../shapes/types.ts";
import { Choice } from "../../parts/choice.tsx";
import { copyText, CopyButton } from "../../parts/copy.tsx";
import { useAction } from "../../parts/use-action.tsx";
import { useKey } from "../keys.tsx";
import { asVitest } from "./as-test.ts";
import { resent } from "./repeats.tsx";
import { wordsOf } from "../../words/format.ts";

/** What can be done with a delivery. */
export function Actions({ delivery }: { readonly delivery: DeliveryDetail }): JSX.Element {
  const { id, curls } = delivery;
  const { run, failure } = useAction();
  const [editing, setEditing] = useState(false);
  const toggle = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setEditing(false);
    toggle.current?.focus();
  };
  const curl = curls[0]?.curl;
  const resend = async (change: object): Promise<void> => {
    const { deliveries } = await post<Receipt>(`/deliveries/${encodeURIComponent(id)}/resend`, change);
    if (deliveries[0] === undefined) return;
    resent.value = new Map(resent.value).set(id, deliveries[0]);
    announce("Resent.");
  };
  const resendAsIs = (): void => run(() => resend({}));
  useKey("r", resendAsIs);
  useKey("e", () => setEditing(true));
  useKey("c", () => void (curl !== undefined && copyText(curl, "the curl command")));
  return (
    <div class="actions-block stack">
      <div class="actions" role="group" aria-label="Actions for the delivery">
        <button type="button" onClick={resendAsIs}>
          Resend <kbd>r</kbd>
        </button>
        <button type="button" ref={toggle} aria-expanded={editing} onClick={() => setEditing(!editing)}>
          Edit and resend <kbd>e</kbd>
        </button>
        {isTried(delivery) && (
          <button
            type="button"
            onClick={() => run(() => post(`/deliveries/${encodeURIComponent(id)}/retry`))}
          >
            Try now
          </button>
        )}
        <span class="grow" />
        <span class="actions">
          {curl !== undefined && (
            <CopyButton text={curl} what="the curl command">
              Copy as curl
            </CopyButton>
          )}
          <CopyButton text={() => asVitest(delivery)} what="the test">
            Copy as a vitest test
          </CopyButton>
        </span>
      </div>
      {failure}
      {editing && (
        <EditForm
          body={delivery.body}
          onCancel={close}
          onSend={(change) => run(() => resend(change).then(close))}
        />
      )}
    </div>
  );
}

interface EditProps {
  readonly body: string;
  readonly onSend: (change: { body?: string; fault?: string }) => void;
  readonly onCancel: () => void;
}

function EditForm({ body, onSend, onCancel }: EditProps): JSX.Element {
  const [text, setText] = useState(body);
  const [fault, setFault] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const faults = status.value.faults.map((name) => [name, wordsOf(name)] as const);
  useEffect(() => field.current?.focus(), []);
  const submit = (): void => onSend({ ...(text !== body && { body: text }), ...(fault && { fault }) });
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onCancel();
  };
  return (
    <form class="stack" onSubmit={submit} onKeyDown={onKeyDown}>
      <label>
        Body
        <textarea
          rows={8}
          spellcheck={false}
          value={text}
          ref={field}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <div class="actions">
        <Choice label="Fault" value={fault} none="none" options={faults} onPick={setFault} />
        <span class="grow" />
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" class="primary">
          {text === body ? "Resend" : "Resend changed"}
        </button>
      </div>
    </form>
  );
}
