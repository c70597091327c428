import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Destination, Source } from "../../shapes/settings.ts";
import { Failure } from "../../parts/failure.tsx";
import { Field } from "../../parts/field.tsx";
import { errorAt, FieldErrors } from "../../parts/field-errors.tsx";
import { change } from "../../route/route.ts";
import { EMPTY_ENDPOINT } from "./draft.ts";
import { EndpointFields } from "./endpoint-fields.tsx";
import { NOTHING } from "./save.ts";
import { SecretFields } from "./secret-fields.tsx";
import { useDraft } from "./use-draft.ts";

const MAX_ENDPOINTS = 5;

interface Props {
  readonly source: Source | undefined;
  readonly destination: Destination | undefined;
}

/** The five steps of a destination: its source, itself, its endpoints, its shared secret, and whether it is enabled. */
export function DestinationForm({ source, destination }: Props): JSX.Element {
  const { draft, outcome, failure, update, save, remove, keepMine } = useDraft(source, destination);
  const form = useRef<HTMLFormElement>(null);
  // Where the list is long, or above it, the form would open out of view.
  useEffect(() => form.current?.querySelector("h3")?.scrollIntoView({ block: "center" }), []);
  useEffect(() => {
    // What is wrong comes first; what was saved as something new is shown by another form.
    const wanted = outcome.isSaved === true ? "[type=submit]" : "[aria-invalid=true]";
    if (outcome !== NOTHING) form.current?.querySelector<HTMLElement>(wanted)?.focus();
  }, [outcome]);
  const others = outcome.errors.filter(
    ({ pointer = "" }) => !/^\/(?:name|endpoints\/\d+|secret)/.test(pointer),
  );

  return (
    <form ref={form} class="card stack" aria-label="Destination" onSubmit={save}>
      <ol class="steps">
        <li>
          <h3>Source</h3>
          {draft.isNewSource ? (
            <>
              <Field
                label="Name of the source"
                value={draft.source}
                required
                error={errorAt(outcome.errors, "/name")}
                onInput={(source) => update({ source })}
              />
              <Field
                label="Write key"
                hint="Clients send it. Default: the name of the source."
                value={draft.writeKey}
                onInput={(writeKey) => update({ writeKey })}
              />
            </>
          ) : (
            <p>{draft.source}</p>
          )}
        </li>
        <li>
          <h3>Destination</h3>
          {draft.isNew ? (
            <Field
              label="Name of the destination"
              value={draft.name}
              required
              error={draft.isNewSource ? "" : errorAt(outcome.errors, "/name")}
              onInput={(name) => update({ name })}
            />
          ) : (
            <p>{draft.name}</p>
          )}
        </li>
        <li>
          <h3>
            Endpoints <span class="about">up to five; one that answers 2xx is enough</span>
          </h3>
          {draft.endpoints.map((endpoint, index) => (
            <EndpointFields
              key={index}
              endpoint={endpoint}
              index={index}
              errors={outcome.errors}
              onChange={(changed) =>
                update({ endpoints: draft.endpoints.map((other, at) => (at === index ? changed : other)) })
              }
              onRemove={
                draft.endpoints.length > 1
                  ? () => update({ endpoints: draft.endpoints.filter((_, at) => at !== index) })
                  : undefined
              }
            />
          ))}
          {draft.endpoints.length < MAX_ENDPOINTS && (
            <button type="button" onClick={() => update({ endpoints: [...draft.endpoints, EMPTY_ENDPOINT] })}>
              Add an endpoint
            </button>
          )}
        </li>
        <li>
          <h3>Shared secret</h3>
          <SecretFields draft={draft} error={errorAt(outcome.errors, "/secret")} onChange={update} />
        </li>
        <li>
          <h3>Enabled</h3>
          <label class="check">
            <input
              type="checkbox"
              checked={draft.enabled}
              onChange={(event) => update({ enabled: event.currentTarget.checked })}
            />
            Deliver to this destination
          </label>
          <p class="note">Otherwise deliveries wait, and new calls are never sent.</p>
        </li>
      </ol>
      {outcome.isStale === true && (
        <div class="banner warn" role="alert">
          <p>
            <strong>Changed meanwhile</strong>
            <span>Somebody else, or another tab, has changed the settings. Nothing was saved.</span>
          </p>
          <button type="button" onClick={keepMine}>
            Keep mine
          </button>
          <button type="button" onClick={() => change({ source: "", destination: "", new: "" })}>
            Discard mine
          </button>
        </div>
      )}
      <Failure text={outcome.error} />
      <FieldErrors errors={others} />
      <div class="actions">
        <button type="submit" class="primary">
          Save
        </button>
        {failure}
        <span role="status">{outcome.isSaved === true && `Saved. ${outcome.note ?? ""}`}</span>
        <span class="grow" />
        {!draft.isNew && (
          <button type="button" class="danger" onClick={remove}>
            Remove the destination
          </button>
        )}
      </div>
    </form>
  );
}
