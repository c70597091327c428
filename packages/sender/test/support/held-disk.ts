import { type FileHandle, open } from "node:fs/promises";
import { devNull } from "node:os";
import { onTestFinished } from "vitest";

/** A disk that answers when a test says so: it stands before the one of the machine. */
export interface HeldDisk {
  /** How many flushes were asked for since it was last held. */
  readonly asked: number;
  /** Lets the flushes that wait go on, and the later ones. */
  release(): void;
  /** Has the flushes that wait fail, and the later ones, until `release()`; or so many of them. */
  fail(times?: number): void;
}

const someFile = await open(devNull);
const handles = Object.getPrototypeOf(someFile) as Pick<FileHandle, "datasync">;
await someFile.close();

/** Holds every flush to disk of this process that does not hold the process up, until the test ends. */
export function holdDisk(): HeldDisk {
  // Called on the handle that asks for it.
  // oxlint-disable-next-line typescript/unbound-method
  const { datasync } = handles;
  const waiting: (() => void)[] = [];
  let state: "held" | "released" | "failing" = "held";
  let failuresLeft = 0;
  let asked = 0;
  const become = (next: "released" | "failing"): void => {
    state = next;
    for (const go of waiting.splice(0)) go();
  };
  handles.datasync = async function (this: FileHandle) {
    asked += 1;
    if (state === "held") await new Promise<void>((go) => waiting.push(go));
    if (state === "failing" && failuresLeft > 0) {
      failuresLeft -= 1;
      throw Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" });
    }
    await datasync.call(this);
  };
  onTestFinished(() => {
    become("released");
    handles.datasync = datasync;
  });
  return {
    get asked() {
      return asked;
    },
    release: () => become("released"),
    fail(times = Number.POSITIVE_INFINITY) {
      failuresLeft = times;
      become("failing");
    },
  };
}
