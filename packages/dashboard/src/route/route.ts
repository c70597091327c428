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

/** Where the page is. */
export const route = signal<Route>(readRoute(typeof location === "undefined" ? "" : location.hash));

/** Goes to a URL of {@link hrefOf}; `replace` leaves no step to go back to. */
export function go(href: string, replace = false): void {
  if (href === location.hash) return;
  history[replace ? "replaceState" : "pushState"](undefined, "", href);
  route.value = readRoute(href);
}

/** Changes parameters of the current screen; an empty value or list removes one. */
export function change(changes: Query, replace = false): void {
  const { screen, parameters } = route.value;
  const kept = Object.fromEntries([...parameters.keys()].map((name) => [name, parameters.getAll(name)]));
  go(hrefOf(screen, { ...kept, ...changes }), replace);
}

/** Follows the browser's own steps. */
export function followHistory(): void {
  addEventListener("hashchange", () => {
    route.value = readRoute(location.hash);
  });
}
