#!/usr/bin/env node
import { run } from "./cli/run.ts";
import { terminalOf } from "./cli/terminal.ts";

// A reader that went away, such as `| head`, is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

void run(process.argv.slice(2), terminalOf(process)).then((code) => {
  process.exitCode = code;
});
