#!/usr/bin/env node
import { run } from "./run.ts";
import { survivesLostOutput } from "./terminal/output.ts";
import { heedSignals, runsUntilToldToStop } from "./terminal/signals.ts";
import { terminalOf } from "./terminal/terminal.ts";

heedSignals();
survivesLostOutput(process, runsUntilToldToStop);

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
});
