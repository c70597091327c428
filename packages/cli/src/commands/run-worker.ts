import type { Duration } from "@countersign/protocol";
import { createSender, type Sender } from "@countersign/sender";
import { messageOf } from "../errors/usage-error.ts";
import { untilToldToStop } from "../terminal/signals.ts";
import { jsonLine, printable, type Terminal } from "../terminal/terminal.ts";
import { openSharedStore, placeOf, unlessStopped } from "./shared-store.ts";

/** The options of `countersign work`, as commander reads them. */
export interface WorkFlags {
  readonly store: string;
  readonly keepFor?: Duration;
  readonly blockPrivateNetworks?: boolean;
  readonly drain: number;
  readonly json?: boolean;
}

/** Prints one thing that happened: a sentence, or a JSON line. */
type Report = (event: string, sentence: string, fields?: Readonly<Record<string, unknown>>) => void;

/** Delivers until it is asked to stop. Resolves to the exit code. */
export async function work(flags: WorkFlags, terminal: Terminal): Promise<number> {
  const { store: url, keepFor, blockPrivateNetworks, drain, json = false } = flags;
  const report: Report = (event, sentence, fields = {}) =>
    terminal.print(json ? jsonLine({ event, ...fields }) : printable(sentence));
  const stop = untilToldToStop();
  const complain = (message: string): void => terminal.complain(`countersign: ${printable(message)}`);
  const store = await openSharedStore(url, keepFor, complain);
  const opening = createSender({ sources: "shared", store, blockPrivateNetworks });
  const sender = await unlessStopped(opening, store, stop);
  if (sender === undefined) return 0;
  tell(sender, report);
  const sources = sender.settings.sources.map(({ name }) => name);
  const what = sources.length === 0 ? "no sources yet; a server adds them" : `sources ${sources.join(", ")}`;
  report("working", `Works on the store ${placeOf(url)}: ${what}`, { store: placeOf(url), sources });
  sender.on("storeError", ({ error }) => complain(messageOf(error)));
  const reason = await stop;
  terminal.complain(
    `countersign: ${reason}: waiting for running attempts, for at most ${drain / 1_000} s. A second signal exits at once.`,
  );
  await sender.close({ deadline: drain });
  return 0;
}

/** What an operator of many processes wants to see of one: changes, not each delivery. */
function tell(sender: Sender, report: Report): void {
  sender.on("storeState", ({ state, reason }) =>
    report("store", `The store is ${state}${reason === undefined ? "." : `: ${reason}`}`, { state, reason }),
  );
  sender.on("failing", ({ destination, endpoint, failures }) =>
    report("failing", `${destination} fails: ${failures} attempts in a row at ${endpoint}`, {
      destination,
      endpoint,
      failures,
    }),
  );
  sender.on("recovered", ({ destination, endpoint }) =>
    report("recovered", `${destination} works again: ${endpoint}`, { destination, endpoint }),
  );
  for (const event of ["failed", "expired"] as const) {
    sender.on(event, ({ delivery: { id, destination, messageId } }) =>
      report(event, `${destination}: delivery ${id} of message ${messageId} has ${event}`, {
        id,
        destination,
        messageId,
      }),
    );
  }
}
