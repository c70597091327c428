import { expect, it } from "vitest";
import { BUNDLES } from "../src/benches/size.ts";
import { bundleSize } from "../src/support/bundle.ts";
import { withPublished } from "../src/support/published.ts";

// A size is the same on every machine, so it need not wait for a bench to be told that it has grown.
it("what a receiver loads is within its bound", { timeout: 120_000 }, async () => {
  const receivers = BUNDLES.filter(({ what }) => what !== "client");
  const tooLarge: string[] = [];
  await withPublished(async (folder) => {
    for (const { what, code, most, external } of receivers) {
      const { atOnce } = await bundleSize(code, folder, external);
      if (atOnce > most) tooLarge.push(`${what}: ${atOnce} kB`);
    }
  });
  expect(receivers.length).toBeGreaterThan(0);
  expect(tooLarge).toEqual([]);
});
