import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Bench, BenchResult } from "./bench.ts";

/** What the process of a bench sends. */
export type FromBench = { readonly progress: string } | { readonly result: BenchResult };

/**
 * The same bench, run in a process of its own. What a process did before changes how its engine treats memory: after a burst of
 * messages, the slowest 1 % at a steady rate takes more than twice as long.
 *
 * @param script - Runs one bench: `children/bench.js`.
 */
export function inOwnProcess(bench: Bench, script: string = BENCH_SCRIPT): Bench {
  return {
    ...bench,
    run: ({ rounds, progress }) =>
      new Promise((resolve, reject) => {
        // Zero unless the command line says how many: the bench asks for its own number there.
        const asked = rounds(0);
        const args = asked === 0 ? [bench.name] : [bench.name, String(asked)];
        const child = fork(script, args, { serialization: "advanced" });
        let result: BenchResult | undefined;
        child.on("message", (message: FromBench) => {
          if ("progress" in message) progress(message.progress);
          else ({ result } = message);
        });
        child.on("error", reject);
        child.on("exit", (code, signal) => {
          if (result !== undefined && code === 0) resolve(result);
          else
            reject(
              new Error(
                `The bench ${bench.name} ended with ${code ?? signal} and no result. What it wrote stands above.`,
              ),
            );
        });
      }),
  };
}

const BENCH_SCRIPT = fileURLToPath(new URL("../children/bench.js", import.meta.url));
