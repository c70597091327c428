import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { sources } from "../../data/app-state.ts";
import { Choice } from "../../parts/choice.tsx";

/** The source that a form sends as. */
export interface ChosenSource {
  /** As a part of a query or a body; empty where the server has no source. */
  readonly query: { readonly source?: string };
  /** The list to choose from, where there is a choice. */
  readonly choice: JSX.Element | false;
}

/** Lets a form choose its source; the first one at first. */
export function useSource(): ChosenSource {
  const [chosen, setChosen] = useState("");
  const names = sources.value.map(({ name }) => name);
  const source = chosen || names[0];
  return {
    query: source ? { source } : {},
    choice: names.length > 1 && (
      <Choice label="Source" value={source ?? ""} options={names} onPick={setChosen} />
    ),
  };
}
