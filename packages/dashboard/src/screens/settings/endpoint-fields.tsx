import type { JSX } from "preact";
import type { FieldError } from "../../data/api.ts";
import { Failure } from "../../parts/failure.tsx";
import { Field } from "../../parts/field.tsx";
import { errorAt } from "../../parts/field-errors.tsx";
import type { EndpointDraft, HeaderDraft } from "./draft.ts";

interface Props {
  readonly endpoint: EndpointDraft;
  readonly index: number;
  readonly errors: readonly FieldError[];
  readonly onChange: (endpoint: EndpointDraft) => void;
  readonly onRemove: (() => void) | undefined;
}

/** One endpoint: its URL, its static headers, and the certificates that it is trusted by. */
export function EndpointFields({ endpoint, index, errors, onChange, onRemove }: Props): JSX.Element {
  const { url, headers, ca } = endpoint;
  const prefix = `/endpoints/${index}`;
  const at = (part: string): string => errorAt(errors, prefix + part);
  const setHeader = (position: number, header: HeaderDraft): void =>
    onChange({ ...endpoint, headers: headers.map((other, index) => (index === position ? header : other)) });
  const whole = errors.find(({ pointer }) => pointer === prefix)?.detail;
  return (
    <fieldset class="stack">
      <legend>Endpoint {index + 1}</legend>
      <Field
        label="URL"
        required
        placeholder="http://localhost:3000/webhooks"
        value={url}
        error={at("/url") || whole}
        onInput={(value) => onChange({ ...endpoint, url: value })}
      />
      {headers.map(([name, value], position) => (
        <div key={position} class="header-fields">
          <Field
            label="Header"
            required
            value={name}
            onInput={(changed) => setHeader(position, [changed, value])}
          />
          <Field
            label="Value"
            value={value}
            hint={value === "(hidden)" ? "Kept as it is, and not shown." : undefined}
            onInput={(changed) => setHeader(position, [name, changed])}
          />
          <button
            type="button"
            onClick={() =>
              onChange({ ...endpoint, headers: headers.filter((_, other) => other !== position) })
            }
          >
            Remove<span class="visually-hidden"> the header {name}</span>
          </button>
        </div>
      ))}
      <Failure text={at("/headers")} />
      {ca !== "" && (
        <Field
          label="Certificate authority, in PEM"
          rows={3}
          value={ca}
          error={at("/ca")}
          onInput={(value) => onChange({ ...endpoint, ca: value })}
        />
      )}
      <div class="actions">
        <button
          type="button"
          class="quiet"
          onClick={() => onChange({ ...endpoint, headers: [...headers, ["", ""]] })}
        >
          Add a header
        </button>
        {onRemove && (
          <button type="button" class="quiet" onClick={onRemove}>
            Remove endpoint {index + 1}
          </button>
        )}
      </div>
    </fieldset>
  );
}
