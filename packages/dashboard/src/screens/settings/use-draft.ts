import { useRef, useState } from "preact/hooks";
import { announce } from "../../data/announce.ts";
import { ApiError } from "../../data/api.ts";
import { etag, loadSources, sources } from "../../data/app-state.ts";
import type { Destination, Source } from "../../shapes/settings.ts";
import { useAction, type Action } from "../../parts/use-action.tsx";
import { go, hrefOf } from "../../route/route.ts";
import { draftOf, type Draft } from "./draft.ts";
import { failureOf, NOTHING, removeSettings, saveDestination, saveSource, type Outcome } from "./save.ts";

/** What a form says after it has saved something new: another form shows it then, since the address has changed. */
let saved: Outcome | undefined;

function takeSaved(): Outcome {
  const outcome = saved ?? NOTHING;
  saved = undefined;
  return outcome;
}

/** A destination while it is edited, and what can be done with it. */
export interface Editing extends Pick<Action, "failure"> {
  readonly draft: Draft;
  readonly outcome: Outcome;
  readonly update: (changes: Partial<Draft>) => void;
  readonly save: () => void;
  readonly remove: () => void;
  /** After somebody else has changed the settings: keeps what was typed, to be saved over it. */
  readonly keepMine: () => void;
}

/** Edits a destination, or a new one. */
export function useDraft(source: Source | undefined, destination: Destination | undefined): Editing {
  const [draft, setDraft] = useState(() => draftOf(source, destination));
  const [outcome, setOutcome] = useState(takeSaved);
  /** The version that the form began with. */
  const version = useRef(etag.value);
  const { run, failure } = useAction();
  const attempt = (action: () => Promise<void>) => () =>
    run(() => action().catch((error: unknown) => setOutcome(failureOf(error))));
  return {
    draft,
    outcome,
    failure,
    update: (changes) => setDraft((now) => ({ ...now, ...changes })),
    save: attempt(async () => {
      const [source, name] = [draft.source.trim(), draft.name.trim()];
      // Saving would replace what has the name.
      const known = sources.value.find((other) => other.name === source);
      if (draft.isNewSource ? known : draft.isNew && known?.destinations.some((other) => other.name === name))
        throw new ApiError(409, "", [
          {
            pointer: "/name",
            detail: "This name is taken. Choose another, or change what has it, in the list.",
          },
        ]);
      const wanted = { ...draft, source, name };
      if (draft.isNewSource) {
        version.current = await saveSource(wanted, version.current);
        // If the destination is refused, its source is there all the same.
        setDraft((now) => ({ ...now, isNewSource: false }));
      }
      const answer = await saveDestination(wanted, version.current);
      version.current = answer.version;
      await loadSources();
      const done = { ...NOTHING, isSaved: true, note: answer.note };
      if (draft.isNew) saved = done;
      const secret = draft.secret === "set" ? "keep" : draft.secret;
      setOutcome(done);
      // What was typed since then stays.
      setDraft((now) => ({ ...now, newSecret: "", secret }));
      announce("Saved.");
      go(hrefOf("settings", { source, destination: name }), true);
    }),
    remove: attempt(async () => {
      await removeSettings(version.current, draft.source, draft.name);
      go(hrefOf("settings"));
    }),
    keepMine: attempt(async () => {
      await loadSources();
      version.current = etag.value;
      setOutcome(NOTHING);
    }),
  };
}
