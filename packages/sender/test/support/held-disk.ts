import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { onTestFinished } from "vitest";

type Callback = (error: NodeJS.ErrnoException | null) => void;

/** A disk that answers when a test says so: it stands before the one of the machine. */
export interface HeldDisk {
  /** How many flushes were asked for since it was last held. */
  readonly asked: number;
  /** Lets the flushes that wait go on, and the later ones. */
  release(): void;
  /** Has the flushes that wait fail, and the later ones, until `release()`. */
  fail(): void;
}

/** Holds every flush to disk of this process that does not hold the process up, until the test ends. */
export function holdDisk(): HeldDisk {
  const { fdatasync } = fs;
  const waiting: (() => void)[] = [];
  let state: "held" | "released" | "failing" = "held";
  let asked = 0;
  const answer = (descriptor: number, callback: Callback): void => {
    if (state === "released") fdatasync(descriptor, callback);
    else callback(Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" }));
  };
  const become = (next: "released" | "failing"): void => {
    state = next;
    for (const go of waiting.splice(0)) go();
  };
  const held = (descriptor: number, callback: Callback): void => {
    asked += 1;
    const go = (): void => answer(descriptor, callback);
    if (state === "held") waiting.push(go);
    else setImmediate(go);
  };
  replaceFlush(Object.assign(held, { __promisify__: fdatasync.__promisify__ }));
  onTestFinished(() => {
    become("released");
    replaceFlush(fdatasync);
  });
  return {
    get asked() {
      return asked;
    },
    release: () => become("released"),
    fail: () => become("failing"),
  };
}

function replaceFlush(fdatasync: typeof fs.fdatasync): void {
  fs.fdatasync = fdatasync;
  syncBuiltinESMExports();
}
