import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { ApiError, post, type FieldError } from "../../data/api.ts";
import { Segments } from "../../parts/choice.tsx";
import { Field } from "../../parts/field.tsx";
import { errorAt, FieldErrors } from "../../parts/field-errors.tsx";
import { useLive } from "../../parts/hooks.ts";
import { useAction } from "../../parts/use-action.tsx";
import { pause } from "../../signals/with-pauses.ts";
import type { Receipt } from "../../shapes/types.ts";
import { Audience } from "./audience.tsx";
import { CALL_FORMS, callOf, type Typed, type Values } from "../../shapes/call-forms.ts";
import { Sent } from "./sent.tsx";
import { useSource } from "./use-source.tsx";

const CHECK_AFTER_MS = 250;
const FIRST: Values = { event: "Order Completed", userId: "u1", properties: '{ "total": 41.5 }' };

/** Sends a message of any type, checked while it is typed. */
export function Send(): JSX.Element {
  return (
    <div class="screen">
      <h2>Send</h2>
      <div class="columns">
        <Message />
        <Audience />
      </div>
    </div>
  );
}

function Message(): JSX.Element {
  const [type, setType] = useState("track");
  const [values, setValues] = useState<Values>(FIRST);
  const [raw, setRaw] = useState<string>();
  const source = useSource();
  const [receipt, setReceipt] = useState<Receipt>();
  const { run, failure } = useAction();
  const made = useMemo(() => (raw === undefined ? callOf(type, values) : parsed(raw)), [type, values, raw]);
  const [problems, isChecked] = useCheck("call" in made ? made.call : undefined);
  const errorOf = (name: string): string => {
    if ("field" in made && made.field === name) return made.error;
    return errorAt(problems, `/${name}`);
  };
  const names = new Set(raw === undefined ? (CALL_FORMS[type] ?? []).map(({ name }) => name) : []);
  const others = problems.filter(({ pointer = "" }) => !names.has(pointer.split("/")[1] ?? ""));
  const submit = (): void => {
    if (!("call" in made)) return;
    run(async () => {
      setReceipt(undefined);
      setReceipt(await post<Receipt>("/messages", made.call, source.query));
    });
  };
  return (
    <form class="card stack" onSubmit={submit} aria-label="Send a message">
      <div class="section-head">
        <h3>Message</h3>
        <button
          type="button"
          aria-pressed={raw !== undefined}
          onClick={() => setRaw(raw === undefined ? pretty(type, values) : undefined)}
        >
          Raw JSON
        </button>
      </div>
      {raw === undefined ? (
        <>
          <Segments label="Type" value={type} options={Object.keys(CALL_FORMS)} onPick={setType} />
          {(CALL_FORMS[type] ?? []).map(({ name, label, required = false, json = false }) => (
            <Field
              key={`${type} ${name}`}
              label={label}
              value={values[name] ?? ""}
              required={required}
              error={errorOf(name)}
              {...(json && { rows: 5 })}
              onInput={(value) => setValues({ ...values, [name]: value })}
            />
          ))}
        </>
      ) : (
        <Field
          label="The call, with its type"
          value={raw}
          rows={12}
          required
          error={"field" in made ? made.error : ""}
          onInput={setRaw}
        />
      )}
      {source.choice}
      <FieldErrors errors={others} />
      <div class="actions">
        <button type="submit" class="primary" disabled={!("call" in made) || problems.length > 0}>
          {type === "delete" && raw === undefined ? "Delete the user" : "Send"}
        </button>
        <span class="note" role="status">
          {isChecked && problems.length === 0 ? "Valid" : ""}
        </span>
        {failure}
      </div>
      {receipt && <Sent receipt={receipt} />}
    </form>
  );
}

function pretty(type: string, values: Values): string {
  const made = callOf(type, values);
  return "call" in made ? made.call : pretty(type, {});
}

function parsed(text: string): Typed {
  try {
    JSON.parse(text);
    return { call: text };
  } catch (error) {
    return { field: "", error: `This is not JSON: ${(error as Error).message}` };
  }
}

/** Has the server check a call while it is typed; what is wrong, and whether that is known of what is typed now. */
function useCheck(text: string | undefined): [readonly FieldError[], boolean] {
  const checked = useLive(
    async (gone) => {
      await pause(CHECK_AFTER_MS);
      if (text === undefined || gone.aborted) return undefined;
      const checked = post<{ errors: readonly FieldError[] }>("/messages", text, { check: "true" });
      return { text, errors: await checked.then(({ errors }) => errors, errorsOf) };
    },
    [],
    0,
    [text],
  );
  return text !== undefined && checked ? [checked.errors, checked.text === text] : [[], false];
}

/** What cannot be checked cannot be sent either; that the server does not answer, the header says. */
function errorsOf(error: unknown): readonly FieldError[] {
  if (!(error instanceof ApiError) || error.status === 0) return [];
  return error.errors.length > 0 ? error.errors : [{ detail: error.message }];
}
