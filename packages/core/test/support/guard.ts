import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** What belongs to a folder, and ends with this process. */
export interface Guard {
  /** Ends every process that works in the folder, and removes it. */
  end(): Promise<void>;
}

/**
 * Reads until its standard input ends, which it does with the process that started it, whatever ends that one. Then whoever
 * has the folder as working directory is asked to stop, gets two seconds for it, and is killed: also if it is suspended.
 */
const SCRIPT = `cat >/dev/null
running() { ls -l /proc/[0-9]*/cwd 2>/dev/null | sed -n "s|.* /proc/\\([0-9]*\\)/cwd -> $0\\(/.*\\)\\{0,1\\}$|\\1|p"; }
left=40
signal=QUIT
while pids=$(running) && [ -n "$pids" ]; do
  kill -CONT $pids 2>/dev/null
  [ "$left" -eq 40 ] || [ "$left" -le 0 ] && kill "-$signal" $pids 2>/dev/null
  left=$((left - 1))
  [ "$left" -gt 0 ] || signal=KILL
  sleep 0.05
done
rm -rf "$0"`;

/** Removes a folder, and ends the processes that work in it, when this process ends or `end` is called. */
export function guardFolder(folder: string): Guard {
  const guard: ChildProcess = spawn("sh", ["-c", SCRIPT, folder], {
    cwd: "/",
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  guard.unref();
  const exited = once(guard, "exit");
  return {
    async end() {
      guard.stdin?.end();
      await exited;
    },
  };
}
