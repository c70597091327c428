import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { destinations, list, serverNow } from "../../data/app-state.ts";
import { activeNames, type Filter } from "../../data/filter.ts";
import { change, hrefOf, route } from "../../route/route.ts";
import { clockTime, count, duration, shortUrl, visible, wordsOf } from "../../words/format.ts";
import { Segments, Select } from "../../parts/choice.tsx";
import { useKey } from "../keys.tsx";
import { CALL_FORMS } from "../../shapes/call-forms.ts";
import { paused, togglePause } from "./delivery-grid.tsx";

const STATES = [
  ["", "All"],
  ["pending", "Waiting"],
  ["delivered", "Delivered"],
  ["failed", "Failed"],
  ["expired", "Expired"],
] as const;
/** The rule of a search, at its field and where it has found nothing. */
export const SEARCH_FINDS =
  "A search finds events that begin with it, a whole user id, or a whole id of a message or delivery. Upper and lower case differ.";
const SEARCH_AFTER_MS = 250;

/** Search, filters and pause. */
export function FilterBar(): JSX.Element {
  const { parameters } = route.value;
  void list.version.value;
  const states = parameters.getAll("state");
  const [total, all] = [list.total.value, list.all.value];
  return (
    <div class="filters actions" role="search" aria-label="Filter the deliveries">
      <Search />
      <Segments
        label="State"
        value={states.length === 0 ? "" : states}
        options={STATES}
        onPick={(state) => change({ state })}
      />
      <Among name="type" known={Object.keys(CALL_FORMS)} />
      <Among name="destination" known={destinations.value} />
      <span class="count">
        {total !== undefined &&
          all !== undefined &&
          (total === all ? count(total) : `${count(total)} of ${count(all)}`)}
        <button type="button" aria-pressed={paused.value} onClick={togglePause}>
          {paused.value ? "Resume" : "Pause"} <kbd>p</kbd>
        </button>
      </span>
      <Chips />
    </div>
  );
}

/** A filter to choose from a list. */
function Among({
  name,
  known,
}: {
  readonly name: "type" | "destination";
  readonly known: readonly string[];
}): JSX.Element | null {
  const value = route.value.parameters.getAll(name).join(", ");
  if (!value && known.length < 2) return null;
  return (
    <Select
      label={name}
      value={value}
      none={`All ${name}s`}
      options={known}
      onPick={(picked) => change({ [name]: picked })}
    />
  );
}

function Search(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const wanted = route.value.parameters.get("q") ?? "";
  const [text, setText] = useState(wanted);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // The space after a word is typed before the next word is. At once: what is typed meanwhile would be taken away.
  useLayoutEffect(() => setText((now) => (now.trim() === wanted ? now : wanted)), [wanted]);
  useKey("/", () => input.current?.select());
  const apply = (value: string): void => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => change({ q: value.trim() }, true), SEARCH_AFTER_MS);
  };
  return (
    <label class="search">
      <span class="visually-hidden">Search by event, user or id</span>
      <input
        ref={input}
        type="search"
        placeholder="Event, user, id, exact case"
        value={text}
        title={SEARCH_FINDS}
        spellcheck={false}
        aria-keyshortcuts="/"
        onInput={(event) => apply(event.currentTarget.value)}
      />
    </label>
  );
}

const LABELS: Partial<Record<keyof Filter, (value: string) => string>> = {
  event: (value) => `event ${visible(value)}`,
  identity: (value) => `user ${visible(value)}`,
  endpoint: (value) => `answered by ${shortUrl(value)}`,
  outcome: (value) => `outcome ${wordsOf(value)}`,
  status: (value) => `status ${value}`,
  since: (value) => `since ${timeOf(value)}`,
  until: (value) => `until ${timeOf(value)}`,
  over: (value) => `last attempt over ${duration(Number(value))}`,
  upTo: (value) => `last attempt up to ${duration(Number(value))}`,
};

/** A time as the list has it; what is none, as it is: the server says so. */
function timeOf(value: string): string {
  return Date.parse(value) ? clockTime(value, serverNow()) : value;
}

/** Filters that have no control of their own: shown, so that they can be removed. */
function Chips(): JSX.Element | null {
  const { filter } = list;
  const chips = activeNames(filter).flatMap((name) => {
    const label = LABELS[name];
    return label ? [filter[name]].flat().map((value) => ({ name, value, text: label(value) })) : [];
  });
  if (chips.length === 0) return null;
  const remove = (name: keyof Filter, value: string): void =>
    change({ [name]: [filter[name]].flat().filter((other) => other !== value) });
  return (
    <div class="chips actions">
      {chips.map(({ name, value, text }) => (
        <button key={name + value} type="button" class="chip" onClick={() => remove(name, value)}>
          <bdi>{text}</bdi> <span aria-hidden="true">×</span>
          <span class="visually-hidden">Remove this filter</span>
        </button>
      ))}
      <a href={hrefOf("deliveries")}>Clear all</a>
    </div>
  );
}
