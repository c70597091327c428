import { codeOf, type Duration, messageOf } from "@countersign/protocol";
import type { DeliveryStore } from "@countersign/sender/store";
import { Option } from "commander";
import { databaseArgument } from "./arguments.ts";
import { UsageError } from "../errors/usage-error.ts";

/** `--store`, the database that several processes share. */
export function storeOption(about: string): Option {
  return new Option("--store <url>", about).env("COUNTERSIGN_STORE").argParser(storeArgument);
}

/** The URL of a PostgreSQL database. The errors do not repeat it: it may contain a password. */
function storeArgument(value: string): string {
  databaseArgument(value);
  const { hash = "", pathname = "" } = URL.canParse(value) ? new URL(value) : {};
  // The rest of a password after a character that is not encoded, with the host: nothing of it must be taken for a host.
  if (hash !== "" || pathname.includes("@")) {
    throw new UsageError(
      "--store, or COUNTERSIGN_STORE, has an @ or a # after the host. In the password, write special characters as percent codes, such as %2F for / and %40 for @.",
    );
  }
  if (/^postgres(?:ql)?:\/\/./u.test(value)) return value;
  throw new UsageError(
    "--store, or COUNTERSIGN_STORE, is not the URL of a PostgreSQL database. Pass one such as postgres://user:password@127.0.0.1:5432/countersign.",
  );
}

/**
 * The store of a database. The driver is loaded only where it is used.
 *
 * @param complain Is told why the database cannot be opened yet, each reason once.
 * @throws UsageError when the URL cannot be read
 */
export async function openSharedStore(
  url: string,
  keep: Duration | undefined,
  complain: (message: string) => void,
): Promise<DeliveryStore> {
  const { postgresStore } = await import("@countersign/postgres");
  const store = storeOf(() => postgresStore({ url, keep }));
  const { settings } = store;
  let isOpen = false;
  return {
    ...store,
    // Opening ends when the settings are watched.
    settings: settings && {
      ...settings,
      watch(listener) {
        isOpen = true;
        return settings.watch(listener);
      },
    },
    async open(context) {
      let told: string | undefined;
      const opening = store.open({
        ...context,
        stateChanged(state) {
          if (!isOpen && state.state === "down" && state.reason !== told) {
            told = state.reason;
            complain(`Waits for the store ${placeOf(url)}, for a minute at most. ${told ?? ""}`);
          }
          context.stateChanged(state);
        },
      });
      return opening.catch((error: unknown) => {
        throw inWordsOfTheCommand(error, url);
      });
    },
  };
}

/** The library speaks of its options, which the caller of the command has not written. */
function storeOf(make: () => DeliveryStore): DeliveryStore {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(
      messageOf(error).replace("postgresStore({ url })", "--store, or COUNTERSIGN_STORE,"),
    );
  }
}

/** The library names its own package, which the caller of the command has not installed. */
function inWordsOfTheCommand(error: unknown, url: string): unknown {
  if (codeOf(error) !== "ERR_STORE_NEWER") return error;
  return new UsageError(
    `The store ${placeOf(url)} was written by a newer version of countersign. Upgrade this one, or use another store.`,
  );
}

/** What was being opened with a store, once it is; undefined when the command was told to stop before, and the store is closed. */
export async function unlessStopped<T>(
  opening: Promise<T>,
  store: DeliveryStore | undefined,
  stop: Promise<unknown>,
): Promise<T | undefined> {
  if (store === undefined) return opening;
  const first = await Promise.race([
    opening.then(
      () => "open",
      () => "failed",
    ),
    stop.then(() => "stopped"),
  ]);
  if (first !== "stopped") return opening;
  await store.close();
  return opening.catch(() => undefined);
}

/** Where a store is, without the user and the password: `127.0.0.1/orders`, or `/var/run/postgresql/orders` by a socket. */
export function placeOf(url: string): string {
  const [place = "", query = ""] = url.split("?");
  const [, host = "", database = ""] = /^\w+:\/\/(?:.*@)?([^/]*)(.*)$/su.exec(place) ?? [];
  return (new URLSearchParams(query).get("host") ?? decoded(host)) + database;
}

/** The folder of a socket can stand in place of the host, in percent codes. */
function decoded(host: string): string {
  try {
    return decodeURIComponent(host);
  } catch {
    return host;
  }
}
