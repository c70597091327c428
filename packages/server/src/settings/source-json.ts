import type { SourceSettings } from "@countersign/sender";
import { namedDestinations, type NamedDestination } from "./find-settings.ts";
import { HIDDEN, withHiddenHeaders } from "./hidden-headers.ts";
import type { SettingsBook } from "./settings-book.ts";

/** A destination as the API shows it: whether it has a secret, and not which. */
export interface DestinationJson extends Omit<NamedDestination, "secret"> {
  readonly signed: boolean;
  readonly enabled: boolean;
}

/** A source as the API shows it. */
export interface SourceJson {
  readonly name: string;
  readonly writeKey: string;
  readonly blockedEvents: readonly string[];
  readonly countFiltered: boolean;
  readonly destinations: readonly DestinationJson[];
  readonly managedBy: "config" | "api";
}

/** A source without its credentials. */
export function sourceJson(source: SourceSettings, book: SettingsBook): SourceJson {
  const { name, blockedEvents = [], countFiltered = false } = source;
  // A key that was given is a credential. Without one the key is the name, which is known anyway.
  const writeKey = (source.writeKey ?? name) === name ? name : HIDDEN;
  const destinations = namedDestinations(source).map(({ secret, enabled = true, ...destination }) => ({
    ...destination,
    endpoints: destination.endpoints.map(withHiddenHeaders),
    signed: secret !== undefined,
    enabled,
  }));
  return { name, writeKey, destinations, blockedEvents, countFiltered, managedBy: book.managerOf(name) };
}
