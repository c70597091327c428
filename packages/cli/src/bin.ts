#!/usr/bin/env node
import { run } from "./run.ts";
import { survivesLostOutput } from "./terminal/output.ts";
import { heedSignals, runsUntilToldToStop, untilToldToEndEarly, waitsForReader } from "./terminal/signals.ts";
import { terminalOf } from "./terminal/terminal.ts";

heedSignals();
survivesLostOutput(process, runsUntilToldToStop);

/** For output that is still being written. */
const LAST_MOMENTS_MS = 250;

/** What did not close in time, as the connections to a database that hangs, keeps no process that has nothing more to do. */
function leaveSoon(): void {
  setTimeout(() => process.exit(), LAST_MOMENTS_MS).unref();
}

let isDone = false;
// Node leaves, and calls it success, when nothing is left that could settle what is awaited.
process.once("exit", () => {
  if (isDone || process.exitCode !== undefined) return;
  process.exitCode = 2;
  process.stderr.write(
    "countersign: The command ended without a result. Does an `await` in the config file never finish?\n",
  );
});

void run(process.argv.slice(2), terminalOf(process)).then((code) => {
  isDone = true;
  process.exitCode = code;
  if (!runsUntilToldToStop()) return;
  if (waitsForReader()) {
    process.stdout.write("", leaveSoon);
    void untilToldToEndEarly().then(leaveSoon);
  } else leaveSoon();
  // Else Node lets go of everything first, which takes a tenth of a second. In it, a signal that comes again would end the process.
  process.once("beforeExit", () => process.exit());
});
