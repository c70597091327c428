import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { announce } from "../../data/announce.ts";
import { ApiError, call, type FieldError } from "../../data/api.ts";
import { etag, loadSources } from "../../data/app-state.ts";
import type { Destination, Source } from "../../shapes/types.ts";
import { Field } from "../../parts/field.tsx";
import { change, go, hrefOf } from "../../route/route.ts";
import { bodyOf, draftOf, EMPTY_ENDPOINT, type Draft } from "./draft.ts";
import { EndpointFields } from "./endpoint-fields.tsx";

const MAX_ENDPOINTS = 5;

interface Props {
  readonly source: Source | undefined;
  readonly destination: Destination | undefined;
}

interface Outcome {
  readonly error: string;
  readonly errors: readonly FieldError[];
  /** Somebody else has changed the settings since the form was opened. */
  readonly isStale?: boolean;
  readonly note?: string;
  readonly isSaved?: boolean;
}

const NOTHING: Outcome = { error: "", errors: [] };

/** The five steps of a destination: its source, itself, its endpoints, its shared secret, and whether it is enabled. */
export function DestinationForm({ source, destination }: Props): JSX.Element {
  const [draft, setDraft] = useState(() => draftOf(source, destination));
  const [outcome, setOutcome] = useState(NOTHING);
  const [busy, setBusy] = useState(false);
  /** The version that the form began with. */
  const version = useRef(etag.value);
  const update = (changes: Partial<Draft>): void => setDraft({ ...draft, ...changes });
  const errorAt = (pointer: string): string =>
    outcome.errors.find((error) => error.pointer === pointer)?.detail ?? "";
  const others = outcome.errors.filter(({ pointer = "" }) => !/^\/(?:endpoints\/\d+|secret)/.test(pointer));

  const save = async (): Promise<void> => {
    setBusy(true);
    try {
      if (draft.isNewSource) {
        version.current = await saveSource(draft, version.current);
        // If the destination is refused, its source is there all the same.
        setDraft({ ...draft, isNewSource: false });
      }
      const answer = await saveDestination(draft, version.current);
      version.current = answer.etag;
      await loadSources();
      setOutcome({ ...NOTHING, isSaved: true, ...(answer.note !== undefined && { note: answer.note }) });
      announce("Saved.");
      setDraft({
        ...draft,
        isNew: false,
        isNewSource: false,
        newSecret: "",
        secret: draft.secret === "set" ? "keep" : draft.secret,
      });
      go(hrefOf("settings", { source: draft.source, destination: draft.name }), true);
    } catch (error) {
      setOutcome(outcomeOf(error));
    }
    setBusy(false);
  };
  const remove = async (): Promise<void> => {
    try {
      const path = `/sources/${encodeURIComponent(draft.source)}/destinations/${encodeURIComponent(draft.name)}`;
      await call("DELETE", path, { headers: ifMatch(version.current) });
      await loadSources();
      go(hrefOf("settings"));
    } catch (error) {
      setOutcome(outcomeOf(error));
    }
  };
  const takeOver = async (): Promise<void> => {
    await loadSources();
    version.current = etag.value;
    setOutcome(NOTHING);
  };

  return (
    <form
      class="card stack"
      aria-label="Destination"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <ol class="steps">
        <li>
          <h3>Source</h3>
          {draft.isNewSource ? (
            <>
              <Field
                label="Name of the source"
                value={draft.source}
                required
                onInput={(source) => update({ source })}
              />
              <Field
                label="Write key"
                hint="What clients send. Without one it is the name."
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
          <Secret draft={draft} error={errorAt("/secret")} onChange={update} />
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
        </li>
      </ol>
      {outcome.isStale === true && (
        <div class="banner warn" role="alert">
          <p>
            <strong>Changed meanwhile</strong>
            <span>Somebody else, or another tab, has changed the settings. Nothing was saved.</span>
          </p>
          <button type="button" onClick={() => void takeOver()}>
            Keep mine
          </button>
          <button type="button" onClick={() => change({ source: "", destination: "", new: "" })}>
            Discard mine
          </button>
        </div>
      )}
      {outcome.error !== "" && (
        <p class="error" role="alert">
          {outcome.error}
        </p>
      )}
      {others.map(({ pointer = "", detail }) => (
        <p key={pointer} class="error">
          <code>{pointer}</code> {detail}
        </p>
      ))}
      <div class="actions">
        <button type="submit" class="primary" disabled={busy}>
          Save
        </button>
        <span role="status">{outcome.isSaved === true && `Saved. ${outcome.note ?? ""}`}</span>
        <span class="grow" />
        {!draft.isNew && (
          <button type="button" class="danger" onClick={() => void remove()}>
            Remove the destination
          </button>
        )}
      </div>
    </form>
  );
}

interface SecretProps {
  readonly draft: Draft;
  readonly error: string;
  readonly onChange: (changes: Partial<Draft>) => void;
}

function Secret({ draft, error, onChange }: SecretProps): JSX.Element {
  const { secret, newSecret, isNew } = draft;
  return (
    <>
      <div class="segments" role="group" aria-label="Shared secret">
        {!isNew && (
          <button type="button" aria-pressed={secret === "keep"} onClick={() => onChange({ secret: "keep" })}>
            Keep it
          </button>
        )}
        <button type="button" aria-pressed={secret === "set"} onClick={() => onChange({ secret: "set" })}>
          {isNew ? "Set one" : "Replace it"}
        </button>
        <button type="button" aria-pressed={secret === "none"} onClick={() => onChange({ secret: "none" })}>
          None
        </button>
      </div>
      {secret === "set" && (
        <Field
          label="Secret"
          type="password"
          required
          error={error}
          hint="Messages are signed with it. It is not shown again."
          value={newSecret}
          onInput={(value) => onChange({ newSecret: value })}
        />
      )}
      {secret === "keep" && <p class="note">Set, and not shown.</p>}
      {secret === "none" && (
        <p class="note">Messages are not signed: a receiver cannot tell who sends them.</p>
      )}
    </>
  );
}

function ifMatch(version: string | undefined): Readonly<Record<string, string>> {
  return version === undefined ? {} : { "if-match": version };
}

async function saveSource(
  { source, writeKey }: Draft,
  version: string | undefined,
): Promise<string | undefined> {
  const body = writeKey === "" ? {} : { writeKey };
  return (await call("PUT", pathOf(source), { body, headers: ifMatch(version) })).etag;
}

async function saveDestination(
  draft: Draft,
  version: string | undefined,
): Promise<{ readonly etag: string | undefined; readonly note?: string | undefined }> {
  const path = `${pathOf(draft.source)}/destinations/${encodeURIComponent(draft.name.trim())}`;
  const { data, etag } = await call<Source>("PUT", path, { body: bodyOf(draft), headers: ifMatch(version) });
  return { etag, note: data.note };
}

function pathOf(source: string): string {
  return `/sources/${encodeURIComponent(source.trim())}`;
}

function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof ApiError)) return { error: String(error), errors: [] };
  if (error.status === 412) return { error: "", errors: [], isStale: true };
  return { error: error.errors.length > 0 ? "" : error.message, errors: error.errors };
}
