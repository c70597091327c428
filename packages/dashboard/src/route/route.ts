import { withPauses } from "../signals/with-pauses.ts";
import { signal } from "../signals/signals.ts";
import { withQuery, type Query } from "./query.ts";

/** The screens, in the order of the navigation. */
export const SCREENS = [
  ["deliveries", "Deliveries"],
  ["send", "Send"],
  ["faults", "Faults & time"],
  ["budget", "Budget"],
  ["rejected", "Rejected & skipped"],
  ["recover", "Recover"],
  ["certify", "Certify"],
  ["settings", "Settings"],
] as const;

export type Screen = (typeof SCREENS)[number][0];

/** What the URL says: the screen, its filters and what is selected. */
export interface Route {
  readonly screen: Screen;
  readonly parameters: URLSearchParams;
}

/** Reads the part of a URL after `#`. */
function readRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const screen = SCREENS.find(([name]) => name === path)?.[0] ?? "deliveries";
  return { screen, parameters: new URLSearchParams(query) };
}

/** The URL of a screen, for links. */
export function hrefOf(screen: Screen, query: Query = {}): string {
  return withQuery(`#/${screen}`, query);
}

/**
 * The address follows at most this often. A browser lets a page change it some 100 times in 10 s, in Safari of 2024 in 30 s; after
 * that it refuses with an error, or ignores it. A key that is held down would do that within seconds.
 */
const FOLLOW_EVERY_MS = 350;

/** What the page made the address, and what it will make it next. */
let made = "";
let address = "";

/** Where the page is. */
export const route = signal(readRoute(address));

function follow(): number {
  // The person may just have gone elsewhere, which is told in the next turn.
  if (made !== address && made === location.hash) {
    history.replaceState(undefined, "", address);
    made = address;
  }
  return FOLLOW_EVERY_MS;
}

const followSoon = withPauses(follow);

/** Goes to a URL of {@link hrefOf}; `replace` leaves no step to go back to. */
export function go(href: string, replace = false): void {
  if (href === address) return;
  if (!replace) {
    // The step to go back to is what was shown last.
    follow();
    history.pushState(undefined, "", (made = href));
  }
  address = href;
  followSoon();
  route.value = readRoute(href);
}

/** Changes parameters of the current screen; an empty value or list removes one. */
export function change(changes: Query, replace = false): void {
  const { screen, parameters } = route.value;
  const kept = Object.fromEntries([...parameters.keys()].map((name) => [name, parameters.getAll(name)]));
  go(hrefOf(screen, { ...kept, ...changes }), replace);
}

function arrive(): void {
  route.value = readRoute((made = address = location.hash));
}

/** Begins where the browser is, and follows its own steps. What a link leaves is a step to go back to, too. */
export function followHistory(): void {
  addEventListener("click", follow);
  addEventListener("hashchange", arrive);
  arrive();
}
