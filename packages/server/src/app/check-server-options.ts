import { isIP } from "node:net";
import { resolve } from "node:path";
import {
  checkClock,
  checkFunction,
  checkOptionNames,
  parseDuration,
  STORE_SYNONYMS,
} from "@countersign/protocol";
import { checkProxy, looksLikeUrl, MAX_BYTES_IN_MEMORY } from "@countersign/sender";
import { checkTls } from "./check-tls.ts";
import type { GuardOptions } from "./guard.ts";
import { isOfKind, LEAST_BYTES, OPTION_KINDS, OPTION_SYNONYMS } from "./option-kinds.ts";
import { DEFAULT_HOST, isLoopback, ServerOptionsError, type ServerOptions } from "./server-options.ts";

/**
 * Checks the options by their names and kinds, and the ports by their shape.
 *
 * @throws ServerOptionsError naming the first option that is wrong.
 */
export function checkServerOptions(options: ServerOptions): void {
  checked(() => {
    checkOptionNames("createServer()", options, {
      ...OPTION_KINDS,
      ...OPTION_SYNONYMS,
      clock: true,
      store: STORE_SYNONYMS,
      onError: true,
    });
    if (options.clock !== undefined) checkClock("createServer({ clock })", options.clock);
    checkFunction("createServer({ onError })", options.onError);
  });
  for (const [name, kind] of Object.entries(OPTION_KINDS)) {
    const value = options[name as keyof ServerOptions];
    if (value !== undefined && !isOfKind(value, kind))
      throw new ServerOptionsError(
        `createServer({ ${name} }) must be ${kind === "object" ? "an" : "a"} ${kind}.`,
      );
  }
  const { host = DEFAULT_HOST, token, maxConnections = 1, maxBytes = LEAST_BYTES, keepFor = 0 } = options;
  if (!Number.isInteger(maxBytes) || maxBytes < LEAST_BYTES) {
    throw new ServerOptionsError(
      `\`maxBytes\` must be a whole number of bytes, at least ${LEAST_BYTES}, not ${maxBytes}.`,
    );
  }
  if ((options.data ?? options.store) === undefined && maxBytes > MAX_BYTES_IN_MEMORY) {
    throw new ServerOptionsError(
      `\`maxBytes\` must be at most ${MAX_BYTES_IN_MEMORY} in memory, not ${maxBytes}. To keep more, give a directory with \`data\`.`,
    );
  }
  checkPath("data", options.data);
  checkPath("record", options.record);
  checkDirectory(options.data);
  checkDeliver(options);
  checked(() => parseDuration(keepFor, "`keepFor`"));
  if (!Number.isInteger(maxConnections) || maxConnections < 1) {
    throw new ServerOptionsError(
      `\`maxConnections\` must be a whole number, 1 or more, not ${maxConnections}.`,
    );
  }
  checkReach({ host, token, allowHosts: options.allowHosts });
  checked(() => checkProxy(options, (name) => `\`${name}\`, or --${name.toLowerCase()},`));
  if (options.tls !== undefined) checkTls(options.tls);
}

/**
 * Mostly the line break at the end of a variable or of a file. The system takes it for a part of the name, so that what is kept would
 * be beside the volume that was meant, and gone with the container.
 */
function checkPath(name: "data" | "record", path: string | undefined): void {
  if (path === undefined || !/\p{Cc}/u.test(path)) return;
  throw new ServerOptionsError(
    `\`${name}\`, or --${name}, has a line break or another control character in it: ${JSON.stringify(path)}. Remove it.`,
  );
}

/** What Node reads of a name that is not UTF-8. */
const REPLACEMENT = "\u{fffd}";

/** A name that is not UTF-8 leads Node to another folder than the one that was named. */
function checkDirectory(path: string | undefined): void {
  if (path === undefined) return;
  if (looksLikeUrl(path)) {
    throw new ServerOptionsError(
      "`data`, or --data, is a URL. Give the path of a directory, without file:. For a PostgreSQL database, use `store`, or --store.",
    );
  }
  const absolute = resolve(path);
  if (absolute.includes(REPLACEMENT)) {
    throw new ServerOptionsError(
      `\`data\`, or --data, leads to a name that is not UTF-8: ${absolute}. Node cannot open that: rename the directory, or use another one.`,
    );
  }
}

/** Calls that nobody delivers would wait without a word, and a recording of what is not sent would stay empty. */
function checkDeliver({ deliver = true, store, record }: ServerOptions): void {
  if (deliver) return;
  if (store === undefined) {
    throw new ServerOptionsError(
      "`deliver: false`, or --no-deliver, needs a `store` that other processes deliver from, such as postgresStore().",
    );
  }
  if (record !== undefined) {
    throw new ServerOptionsError(
      "`record` keeps what this server sends, and with `deliver: false`, or --no-deliver, it sends nothing. Leave one of them out.",
    );
  }
}

/** Every error about an option has this class, whichever layer found it. */
export function checked(check: () => void): void {
  try {
    check();
  } catch (error) {
    throw error instanceof TypeError ? new ServerOptionsError(error.message) : error;
  }
}

/** Checks who can reach a server, and by which names. */
export function checkReach({ host, token, allowHosts = [] }: GuardOptions & { readonly host: string }): void {
  checkHost(host);
  checkToken(host, token);
  checkAllowHosts(allowHosts);
}

/** A server cannot listen on a URL, and a token would not help. */
function checkHost(host: string): void {
  if (isIP(host) !== 0 || !/[/:\s]/u.test(host)) return;
  throw new ServerOptionsError(
    `\`host\`, or --host, has "${host}". Give an address or a name, such as 127.0.0.1, without http://, a port or a path.`,
  );
}

/** Anything else than a name would never be found in a request, and all of them would be refused. */
function checkAllowHosts(names: readonly string[]): void {
  const wrong = names.find((name) => !/^[\w.-]+$/u.test(name));
  if (wrong === undefined) return;
  throw new ServerOptionsError(
    `\`allowHosts\`, or --allow-host, has "${wrong}". Give the name of a host, such as hooks.example.com, without https://, a port or a path.`,
  );
}

function checkToken(host: string, token: string | undefined): void {
  if (token === "") throw new ServerOptionsError("The token is empty. Use a long random one.");
  // Mostly the line break at the end of a file. The Authorization header cannot carry it, so every request would be refused.
  if (token !== undefined && /^\s|\s$|\p{Cc}/u.test(token)) {
    throw new ServerOptionsError(
      "The token has white space around it, such as a line break at its end, or a control character in it. No request can carry that: remove it.",
    );
  }
  if (isLoopback(host) || token !== undefined) return;
  throw new ServerOptionsError(
    `Listening on ${host} gives others on the network access, so it needs a token. Pass one with --token, or listen on 127.0.0.1.`,
  );
}
