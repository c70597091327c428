import { describe, expect, it } from "vitest";
import { missing, openPage, useBrowser, violations, why } from "../support/browser.ts";
import { startSetting } from "../support/setting.ts";

useBrowser();

describe.skipIf(missing)(`accessibility, by axe-core${why}`, () => {
  it.each([1280, 375])(
    "finds no violation on any screen, light and dark, at %i px",
    // Twenty looks at a page: a busy machine takes seconds for each.
    { timeout: 120_000 },
    async (width) => {
      const { server, receiver, track, api } = await startSetting();
      await track("Ordered", 4);
      receiver.mode = "down";
      await track("Waiting", 2);
      receiver.mode = "missing";
      await track("Lost");
      receiver.mode = "gullible";
      await api("POST", "/faults", { fault: "bad_signature", times: 1 });
      await track("Forged");
      await fetch(`${server.url}/v1/track`, { method: "POST", body: '{"writeKey":"any","userId":"u"}' });
      const { deliveries } = (await api("GET", "/deliveries")) as {
        deliveries: { id: string; event: string }[];
      };
      const waiting = deliveries.find(({ event }) => event === "Waiting")?.id ?? "";
      const page = await openPage(server.url, { width });
      const found: string[] = [];
      for (const [hash, text] of [
        ["deliveries", "Lost"],
        [`deliveries?id=${waiting}`, "Waits for its 2nd try"],
        ["deliveries?q=nothing", "Nothing matches"],
        ["send", "Anonymous id"],
        ["faults", "Wrong signature"],
        ["budget", "near misses"],
        ["rejected", "Pass the name of the event"],
        ["recover", "1 delivery"],
        ["certify", "Receiver"],
        ["settings?source=default&destination=webhooks", "Endpoint 1"],
      ] as const) {
        await page.goto(`${server.url}/#/${hash}`);
        await page.getByText(text).first().waitFor();
        const light = await violations(page);
        // Nothing else differs.
        await page.emulateMedia({ colorScheme: "dark" });
        const dark = await violations(page, "cat.color");
        await page.emulateMedia({ colorScheme: "light" });
        found.push(...[...light, ...dark].map((line) => `${hash}: ${line}`));
      }
      expect(found).toEqual([]);
    },
  );

  it("finds none among the budgets of two endpoints", async () => {
    const { server, receiver, track, api } = await startSetting();
    const second = { endpoints: [{ url: receiver.url }], secret: "a shared secret" };
    await api("PUT", "/sources/default/destinations/second", second);
    await track("Ordered");
    const page = await openPage(`${server.url}/#/budget`);
    await expect.poll(() => page.getByRole("region", { name: /^Histogram/ }).count()).toBe(2);
    expect(await violations(page)).toEqual([]);
  });

  it("finds none in the form for the token, before the first delivery, and in the list of keys", async () => {
    const { server } = await startSetting({ token: "s3cret" });
    const page = await openPage(server.url, { expected: /401/ });
    await page.getByLabel("Token").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.goto(`${server.url}/?token=s3cret`);
    await page.getByText("No deliveries yet").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: /Keys/ }).click();
    await page.getByRole("dialog").waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it("nothing is wider than the screen, from 375 to 2560 px", async () => {
    const { server, track } = await startSetting();
    await track("Ordered with a name that is quite long, and has no end in sight", 3);
    const page = await openPage(server.url);
    for (const width of [375, 900, 1280, 2560]) {
      await page.setViewportSize({ width, height: 800 });
      await page.reload();
      for (const hash of [
        "deliveries",
        "send",
        "faults",
        "budget",
        "rejected",
        "recover",
        "certify",
        "settings",
      ]) {
        await page.goto(`${server.url}/#/${hash}`);
        await page.locator(`.screen-${hash}`).waitFor();
        const overflow = await page.evaluate(
          "document.documentElement.scrollWidth - innerWidth + Math.max(0, document.querySelector('.main').scrollWidth - document.querySelector('.main').clientWidth)",
        );
        expect([hash, width, Math.max(Number(overflow), 0)]).toEqual([hash, width, 0]);
      }
    }
  });

  it("has one tab stop in the list, and keeps the focus when rows arrive", async () => {
    const { server, track } = await startSetting();
    await track("Ordered", 30);
    const page = await openPage(server.url);
    await page.getByRole("row").nth(3).waitFor();
    expect(await page.locator(".grid [tabindex], .grid a, .grid button").count()).toBe(0);
    await page.locator("#delivery-grid").focus();
    await track("More", 30);
    await page.getByRole("button", { name: /^30 new/ }).waitFor();
    expect(await page.locator("#delivery-grid:focus").count()).toBe(1);
    expect(await page.getByRole("row").filter({ hasText: "delivered" }).count()).toBeGreaterThan(0);
  });
});
