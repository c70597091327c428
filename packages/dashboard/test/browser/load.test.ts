import { createServer } from "@countersign/server";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { missing, openPage, useBrowser, why } from "../support/browser.ts";
import {
  heapOf,
  recordAll,
  rowsInList,
  scrollFrames,
  scrollUntil,
  startWithDeliveries,
  watch,
} from "../support/load.ts";
import { SECRET, startReceiver, startSetting } from "../support/setting.ts";

useBrowser();

// The full sizes, and the limits of a quiet machine, are in tests/long/dashboard.long.ts.
describe.skipIf(missing)(`under load${why}`, () => {
  it("paints before the server has answered any question", async () => {
    const { server } = await startSetting();
    const page = await openPage("about:blank");
    await page.route("**/api/**", () => {});
    await page.goto(server.url);
    const paints = "performance.getEntriesByName('first-contentful-paint').length";
    await expect.poll(() => page.evaluate(paints)).toBe(1);
    expect(await page.getByRole("link", { name: "Deliveries", exact: true }).isVisible()).toBe(true);
  });

  it("keeps few rows in the document, however many are in the list", { timeout: 120_000 }, async () => {
    const server = await startWithDeliveries(6_000);
    const page = await openPage(server.url, { alone: true });
    await page.getByRole("row").nth(5).waitFor();
    const empty = await heapOf(page);
    await scrollUntil(page, 6_000);
    expect(await page.getByRole("row").count()).toBeLessThan(150);
    // 40 MB for 100,000 rows are 400 bytes for each; what the page needs besides is in both.
    // What was just read may still be in use.
    await vi.waitFor(async () => expect((await heapOf(page)) - empty).toBeLessThan(6_000 * 400));
    const frames = await scrollFrames(page);
    expect(frames[Math.floor(frames.length * 0.95)]).toBeLessThan(1_000);
  });

  it(
    "loses no row of a burst, and redraws at most about ten times a second",
    { timeout: 120_000 },
    async () => {
      const receiver = await startReceiver();
      const server = await createServer({ to: receiver.url, secret: SECRET, port: 0 });
      onTestFinished(() => server.close({ deadlineMs: 1_000 }));
      await recordAll(server.url, 1, "First");
      const page = await openPage(server.url);
      await page.getByRole("row").filter({ hasText: "First" }).waitFor();
      const watched = await watch(page);
      const started = performance.now();
      await recordAll(server.url, 3_000);
      await vi.waitFor(async () => expect(await rowsInList(page)).toBe(3_001), { timeout: 60_000 });
      await server.sender.idle();
      await vi.waitFor(async () =>
        expect(await page.getByRole("row").filter({ hasText: "waiting" }).count()).toBe(0),
      );
      const { redraws, overSecond } = await watched();
      const seconds = (performance.now() - started) / 1_000;
      expect(redraws).toBeGreaterThan(0);
      expect(redraws).toBeLessThan(25 * seconds + 25);
      // The machine may stand still during one.
      expect(overSecond).toBeLessThan(3);
      expect(await page.getByRole("grid").getAttribute("aria-rowcount")).toBe("3002");
    },
  );
});
