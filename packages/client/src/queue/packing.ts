import type * as PackedMessages from "./packed-messages.ts";

/** How full blocks are packed. */
export type Packing = Pick<typeof PackedMessages, "pack" | "unpack">;

let packing: Packing | undefined;
let loading: Promise<void> | undefined;

/**
 * Calls back with what packs blocks: at once if it is loaded, else when it is. Most clients send what they record before it fills a
 * block, and never load it. Where it cannot be loaded, it never calls back: packing only saves memory.
 */
export function withPacking(use: (packing: Packing) => void): void {
  if (packing) return use(packing);
  loading ??= load();
  loading.then(
    () => use(packing as Packing),
    () => {},
  );
}

/** Async, because an `import()` of webpack that lacks its file throws, and would throw into the call that is recorded. */
async function load(): Promise<void> {
  packing = await import("./packed-messages.ts");
}
