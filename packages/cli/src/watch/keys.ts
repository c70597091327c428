import { createInterface } from "node:readline";
import { messageOf } from "@countersign/protocol";
import type { ControlAnswer, CountersignServer } from "@countersign/server";
import { printable, type Terminal } from "../terminal/terminal.ts";
import { isInForeground } from "./foreground.ts";
import { openPage } from "./open-page.ts";

/** The objects that the keys act on. */
export interface KeysOptions {
  readonly terminal: Terminal;
  readonly server: Pick<CountersignServer, "control">;
  /** Where the page is, with the token if there is one. */
  readonly pageUrl: string;
  /** The delivery that failed last. */
  readonly takeLastFailed: () => string | undefined;
  /** Stops the server. */
  readonly quit: () => void;
}

interface Key {
  readonly usage: string;
  readonly does: string;
  readonly run: (options: KeysOptions, argument: string | undefined) => void | Promise<void>;
}

/** Clears the screen and what was scrolled off it, and goes to its first line. */
const CLEAR = "\u001B[2J\u001B[3J\u001B[H";

const KEYS: Readonly<Record<string, Key>> = {
  o: { usage: "o", does: "open the page", run: openInBrowser },
  r: { usage: "r", does: "resend the delivery that failed last", run: resend },
  f: {
    usage: "f [fault]",
    does: "forge the next delivery, or inject another fault into it",
    run: async ({ server, terminal }, fault = "bad_signature") =>
      complainOf(terminal, await server.control("POST", "/faults", { fault })),
  },
  a: {
    usage: "a [time]",
    does: "advance the virtual clock, for example by 4h; without a time, to the next try",
    run: async ({ server, terminal }, advance = "next") =>
      complainOf(terminal, await server.control("POST", "/clock", { advance })),
  },
  c: { usage: "c", does: "clear the screen", run: ({ terminal }) => void terminal.stdout.write(CLEAR) },
  q: { usage: "q", does: "quit", run: ({ quit }) => quit() },
  h: { usage: "h", does: "show the keys", run: showKeys },
};

/** Whether keys can be read: there is a terminal, and this process may read from it. */
export function hasKeys({ stdin, stdout }: Terminal): boolean {
  return stdin.isTTY && stdout.isTTY && isInForeground();
}

/**
 * Lets a person at the terminal act on the server: a letter, then Enter.
 *
 * @returns What stops that.
 */
export function listenToKeys(options: KeysOptions): () => void {
  const { terminal } = options;
  // Whole lines, as the terminal gives them: what is typed is echoed and edited, and Ctrl-C works, as everywhere.
  const lines = createInterface({ input: terminal.stdin, terminal: false });
  lines.on("line", (line) => {
    const [name = "", argument] = line.trim().split(/\s+/);
    if (name === "") return;
    const key = Object.hasOwn(KEYS, name) ? KEYS[name] : undefined;
    if (!key) {
      terminal.print(terminal.colors.yellow(`No key ${printable(name)}. h + Enter shows the keys.`));
      return;
    }
    void Promise.resolve(key.run(options, argument)).catch((error: unknown) =>
      terminal.complain(printable(messageOf(error))),
    );
  });
  return () => lines.close();
}

function showKeys({ terminal }: KeysOptions): void {
  for (const { usage, does } of Object.values(KEYS))
    terminal.print(`  ${terminal.colors.bold(usage.padEnd(10))} ${does}`);
}

async function openInBrowser({ terminal, pageUrl }: KeysOptions): Promise<void> {
  if (await openPage(pageUrl)) return;
  terminal.print(terminal.colors.yellow(`No browser could be started. Open ${pageUrl}`));
}

async function resend({ server, terminal, takeLastFailed }: KeysOptions): Promise<void> {
  const id = takeLastFailed();
  if (id === undefined) {
    terminal.print(terminal.colors.yellow("There is no failed delivery left to resend."));
    return;
  }
  complainOf(terminal, await server.control("POST", `/deliveries/${encodeURIComponent(id)}/resend`));
}

/** What was done shows as an event. What was not done says why. */
function complainOf({ print, colors }: Terminal, { status, body }: ControlAnswer): void {
  if (status < 400) return;
  const { detail, errors } = body as Problem;
  const reasons = errors?.map((error) => error.detail).filter((reason) => reason !== undefined) ?? [];
  print(colors.yellow(printable([detail ?? `The server answered ${status}.`, ...reasons].join(" "))));
}

interface Problem {
  readonly detail?: string;
  readonly errors?: readonly { readonly detail?: string }[];
}
