import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { missing, openPage, useBrowser, why } from "../support/browser.ts";
import { expectFocus } from "../support/hands.ts";
import { SECRET, startSetting, type Setting } from "../support/setting.ts";

useBrowser();

const WIDTHS = [1920, 1440, 1280, 1024, 800, 375];

/** A receiver took the forgery of the first, and refused that of the second. */
const EVENTS = ["Taken", "Refused"] as const;

/** A forgery that was accepted, and one that was rejected: the verdicts with the most words. */
async function startWithForgeries(): Promise<Setting> {
  const setting = await startSetting();
  const { receiver, track, api } = setting;
  for (const event of EVENTS) {
    receiver.mode = event === "Taken" ? "gullible" : "verifies";
    await api("POST", "/faults", { fault: "bad_signature", times: 1 });
    await track(event);
  }
  return setting;
}

const rowOf = (page: Page, event: string): Locator => page.getByRole("row").filter({ hasText: event });

const overflowOf = (element: Locator): Promise<number> =>
  element.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);

describe.skipIf(missing)(`where things stand${why}`, () => {
  it("no word of a state is cut in the list", async () => {
    const { server } = await startWithForgeries();
    const page = await openPage(server.url);
    for (const event of EVENTS) {
      const word = rowOf(page, event).locator(".state .word");
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        expect([width, event, await overflowOf(word)]).toEqual([width, event, 0]);
      }
    }
  });

  it("the time of a delivery of another day is not cut in the list, which lost its last digits", async () => {
    const { server, track, api } = await startSetting();
    await track("Ordered");
    await api("POST", "/clock", { advance: "24h" });
    const page = await openPage(server.url);
    const time = rowOf(page, "Ordered").locator(".time");
    expect(await time.innerText()).toMatch(/^\d+ [A-Z][a-z]+ \d\d:\d\d$/);
    // The longest name of a month. The page does not draw the row again meanwhile.
    await time.evaluate((cell) => (cell.textContent = "28 Sept 20:40"));
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      expect([width, await overflowOf(time)]).toEqual([width, 0]);
    }
  });

  it("the hint in the search field is not cut on a desktop, also beside a delivery", async () => {
    const { server, track } = await startSetting();
    await track("Ordered");
    const page = await openPage(server.url);
    const field = page.getByRole("searchbox");
    const hint = (await field.getAttribute("placeholder")) ?? "";
    await rowOf(page, "Ordered").click();
    // A browser tells the width of a value only. The page does not hear of this one.
    await field.evaluate((input, value) => Object.assign(input, { value }), hint);
    for (const width of WIDTHS.filter((each) => each >= 1024)) {
      await page.setViewportSize({ width, height: 800 });
      expect([width, await overflowOf(field)]).toEqual([width, 0]);
    }
  });

  it("rows are as high in the list as their style makes them, also beside a scroll bar", async () => {
    const { server, track } = await startSetting();
    await track("Ordered", 3);
    // As wide as the list beside a delivery on a screen of 1366 px.
    const page = await openPage(server.url, { width: 565 });
    await rowOf(page, "Ordered").first().waitFor();
    // A browser without a window draws no scroll bar: a border takes as much from the inside.
    await page.evaluate(`document.styleSheets[0].insertRule(".grid { border-right: 15px solid }")`);
    const heights = `["clientWidth", "offsetHeight"].map((name, at) => document.querySelector([".grid", ".rows"][at])[name])`;
    await expect.poll(() => page.evaluate(heights)).toEqual([550, 3 * 36]);
    expect(
      await rowOf(page, "Ordered")
        .first()
        .evaluate(({ clientHeight }) => clientHeight),
    ).toBe(35);
  });

  it("an answer that is cut in the list can be read in its title", async () => {
    const { server, track, api } = await startSetting();
    await api("POST", "/faults", { fault: "reset", times: 1 });
    await track("Ordered");
    const page = await openPage(server.url);
    const answer = rowOf(page, "Ordered").locator(".answer");
    await answer.waitFor();
    expect(await overflowOf(answer)).toBeGreaterThan(0);
    expect(await answer.getAttribute("title")).toBe(await answer.textContent());
  });

  it("the form of a destination opens in view, also where the list is long or above it", async () => {
    const { server, receiver, api } = await startSetting();
    for (let source = 1; source < 9; source += 1) {
      await api("PUT", `/sources/s${source}`, {});
      const endpoints = [{ url: receiver.url }];
      await api("PUT", `/sources/s${source}/destinations/webhooks`, { endpoints, secret: SECRET });
    }
    for (const width of [1280, 375]) {
      const page = await openPage(`${server.url}/#/settings`, { width, height: 500 });
      const last = page.getByRole("region", { name: "Source s8" });
      await last.getByRole("link", { name: "webhooks" }).click();
      const title = page.getByRole("form").getByRole("heading", { name: "Source" });
      const topOf = (): Promise<number> => title.evaluate((element) => element.getBoundingClientRect().top);
      await expect.poll(topOf).toBeGreaterThan(0);
      await expect.poll(topOf).toBeLessThan(500);
      await page.close();
    }
  });

  it("rows of one message to several destinations differ, also on a telephone and beside a delivery", async () => {
    const { server, track, api, receiver } = await startSetting();
    const endpoints = [{ url: receiver.url }];
    await api("PUT", "/sources/default/destinations/second", { endpoints, secret: SECRET });
    await track("Ordered");
    const page = await openPage(server.url, { width: 375 });
    const rows = rowOf(page, "Ordered");
    await rows.nth(1).waitFor();
    for (const name of ["webhooks", "second"])
      expect(await rows.getByText(`default/${name}`).isVisible()).toBe(true);
  });

  it("an attempt is as wide as its list, whatever its verdict says", async () => {
    const { server } = await startWithForgeries();
    for (const event of EVENTS) {
      const page = await openPage(server.url);
      await rowOf(page, event).click();
      const attempt = page.getByRole("button", { name: /^1 / });
      await attempt.waitFor();
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        expect([width, event, await overflowOf(attempt)]).toEqual([width, event, 0]);
      }
      await page.close();
    }
  });

  it("the navigation stays where it is when its longest entry is chosen", async () => {
    const { server } = await startSetting();
    const page = await openPage(server.url);
    const last = page.getByRole("link", { name: "Settings" });
    const before = await last.boundingBox();
    await page.getByRole("link", { name: "Rejected & skipped" }).click();
    await page.getByRole("heading", { name: "Rejected and skipped" }).waitFor();
    expect(await last.boundingBox()).toEqual(before);
  });

  it.each([
    ["a telephone", 375, 700],
    ["a screen of 1440 px at a zoom of 200 %", 720, 450],
  ])("%s shows a delivery in place of the list, then the list where it was", async (_, width, height) => {
    const { server, track } = await startSetting();
    await track("Ordered", 40);
    const page = await openPage(server.url, { width, height });
    const grid = page.locator("#delivery-grid");
    await rowOf(page, "u40").waitFor();
    await grid.evaluate((element) => element.scrollTo(0, 600));
    const row = rowOf(page, "u22");
    await row.click();
    const title = page.getByRole("heading", { level: 2 });
    await title.waitFor();
    expect(await grid.isVisible()).toBe(false);
    expect((await title.boundingBox())?.y).toBeLessThan(350);
    await page.getByRole("button", { name: /^Close/ }).click();
    await expectFocus(grid);
    expect(await row.isVisible()).toBe(true);
    expect(await grid.evaluate(({ scrollTop }) => scrollTop)).toBeGreaterThan(400);
  });

  it("no screen is wider than the window, however long the names are", async () => {
    const long = "w".repeat(150);
    const url = `http://127.0.0.1:9/${long}?q=${long}`;
    const endpoints = [{ url, headers: { [`x-${long}`]: long } }, { url: "http://127.0.0.1:9/second" }];
    const { server, api } = await startSetting({
      to: undefined,
      secret: undefined,
      sources: [
        { name: long, writeKey: "any", destinations: [{ name: long, endpoints, secret: SECRET }] },
        { name: "b", writeKey: "b", destinations: [{ name: "b", endpoints, secret: SECRET }] },
      ],
    });
    await api("POST", "/faults", { fault: "status:503", endpoint: url, times: "unlimited" });
    for (const call of [{ event: long }, {}, { event: long, integrations: { All: false } }])
      await fetch(`${server.url}/v1/track`, {
        method: "POST",
        body: JSON.stringify({ writeKey: "any", userId: long, ...call }),
      });
    await api("POST", "/clock", { advance: "1m" });
    const { deliveries } = (await api("GET", "/deliveries")) as { deliveries: { id: string }[] };
    const page = await openPage(server.url);
    for (const [hash, words] of [
      ["deliveries", /^retrying/],
      [`deliveries?identity=${long}&endpoint=${encodeURIComponent(url)}`, /^Clear all/],
      [`deliveries?id=${deliveries[0]?.id}`, /^Facts/],
      ["send", /^User ids/],
      ["faults", /^Forgeries/],
      ["budget", /^near misses/],
      ["rejected", /^integrations/],
      ["recover", /^Resend all/],
      ["certify", /^Receiver/],
      [`settings?source=${long}&destination=${long}`, /^Set, and not shown/],
    ] as const) {
      await page.goto(`${server.url}/#/${hash}`);
      await page.getByText(words).first().waitFor();
      for (const width of [320, 375, 600, 768, 900, 1024, 1280, 1920]) {
        await page.setViewportSize({ width, height: 800 });
        const wide =
          await page.evaluate(`[...document.querySelectorAll("html, .main, .filters, .grid, .detail, .card")]
          .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
          .map(({ className, scrollWidth, clientWidth }) => [className, scrollWidth, clientWidth])`);
        expect([hash.slice(0, 20), width, wide]).toEqual([hash.slice(0, 20), width, []]);
      }
    }
  });

  it("what is below the name of a delivery can be reached, however long the name is", async () => {
    const { server, track } = await startSetting();
    await track("long ".repeat(1_000));
    const page = await openPage(server.url);
    await rowOf(page, "long").click();
    await page.getByRole("heading", { name: "Facts" }).waitFor();
    expect((await page.locator(".detail-head").boundingBox())?.height).toBeLessThan(400);
  });

  it("the end of a long name is reached by the keyboard alone, and so is whatever else scrolls beside it", async () => {
    const { server, receiver, track } = await startSetting();
    receiver.mode = { status: 400, body: "long ".repeat(1_000) };
    await track("w".repeat(1_000), 1, { properties: { text: "long ".repeat(1_000) } });
    const page = await openPage(server.url);
    await page.goto(`${server.url}/#/deliveries?q=u1`);
    await rowOf(page, "u1").click();
    await page.getByRole("heading", { name: "Facts" }).waitFor();
    await page.getByRole("button", { name: /^Close/ }).focus();
    await page.keyboard.press("Shift+Tab");
    const name = page.locator(".detail h2");
    await expectFocus(name);
    await page.keyboard.press("End");
    const leftOf = (): Promise<number> =>
      name.evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight);
    await expect.poll(leftOf).toBeLessThan(2);
    // Whatever else scrolls is a stop of Tab, or has one in it.
    const unreachable = `[...document.querySelectorAll("*")]
      .filter((element) => element.scrollHeight > element.clientHeight + 1 || element.scrollWidth > element.clientWidth + 1)
      .filter((element) => /auto|scroll/.test(getComputedStyle(element).overflow))
      .filter((element) => ![element, ...element.querySelectorAll("*")].some(({ tabIndex }) => tabIndex >= 0))
      .map(({ outerHTML }) => outerHTML.slice(0, 100))`;
    expect(await page.evaluate(unreachable)).toEqual([]);
  });

  it("a name and a value in a script from right to left keep their places in JSON", async () => {
    const { server, track } = await startSetting();
    await track("Ordered", 1, { properties: { שם: "ערך" } });
    const page = await openPage(server.url);
    await rowOf(page, "Ordered").click();
    const line = page.locator(".json-line").filter({ hasText: "שם" });
    const [key, value] = [line.locator(".json-key"), line.locator(".json-string")];
    await value.waitFor();
    const { x = 0, width = 0 } = (await key.boundingBox()) ?? {};
    expect(x + width).toBeLessThan(((await value.boundingBox())?.x ?? 0) + 1);
  });

  it("a long name in a script from right to left shows its beginning in the list, since it showed its end", async () => {
    const { server, track } = await startSetting();
    await track("שלום ".repeat(60).trim(), 1, { userId: "דוד ".repeat(60).trim() });
    await track("Order Completed ".repeat(20).trim(), 1, { userId: "user ".repeat(40).trim() });
    const page = await openPage(server.url);
    const cells = page.locator(".rows .row :is(.event, .user)");
    await expect.poll(() => cells.count()).toBe(4);
    // The first letter, and whether it can be seen.
    const first = (cell: Element): boolean => {
      const range = cell.ownerDocument.createRange();
      range.setStart(cell.firstChild?.firstChild ?? cell.firstChild!, 0);
      range.setEnd(range.startContainer, 1);
      const [letter, place] = [range.getBoundingClientRect(), cell.getBoundingClientRect()];
      return letter.left >= place.left - 1 && letter.right <= place.right + 1;
    };
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      for (const cell of await cells.all())
        expect([width, await cell.evaluate(first)]).toEqual([width, true]);
    }
  });

  it("a screen begins at its top after another one was scrolled", async () => {
    const { server } = await startSetting();
    const page = await openPage(`${server.url}/#/settings?new=source`, { height: 300 });
    await page.getByLabel(/^Name of the source/).waitFor();
    const main = page.locator("#main");
    await main.evaluate((element) => element.scrollTo(0, 300));
    expect(await main.evaluate(({ scrollTop }) => scrollTop)).toBeGreaterThan(100);
    await page.getByRole("link", { name: "Faults & time" }).click();
    await page.getByRole("heading", { name: "Faults and time" }).waitFor();
    await expect.poll(() => main.evaluate(({ scrollTop }) => scrollTop)).toBe(0);
  });

  it("what is hidden from sight makes the document no longer: only its screen scrolls", async () => {
    const { server, receiver, track, api } = await startSetting();
    receiver.mode = { status: 400, body: "" };
    await track("Refused");
    await api("POST", "/faults", { fault: "reset", times: "unlimited" });
    const page = await openPage(server.url, { height: 300 });
    for (const [screen, words] of [
      ["faults", /^Cancel/],
      ["recover", /^Resend these/],
    ] as const) {
      await page.goto(`${server.url}/#/${screen}`);
      await page.getByRole("button", { name: words }).waitFor();
      const heights = `[document.documentElement.scrollHeight, document.querySelector(".main").scrollHeight > 300]`;
      expect([screen, await page.evaluate(heights)]).toEqual([screen, [300, true]]);
    }
  });

  it("a screen has room below a banner that is whole, also in a window of 1280 by 1024 at 400 %", async () => {
    const { server, receiver, track } = await startSetting();
    receiver.mode = "down";
    await track("Ordered", 6);
    const page = await openPage(`${server.url}/#/recover`, { width: 320, height: 256 });
    const banner = page.getByRole("link", { name: "Recover them" });
    const recover = page.getByRole("button", { name: /^Try now: 6/ });
    // Each is seen whole where it is scrolled into view.
    for (const element of [banner, recover]) {
      await element.focus();
      const seen = await element.evaluate((node) => {
        const { top, bottom, left, right } = node.getBoundingClientRect();
        const at = (y: number): boolean => node.contains(document.elementFromPoint((left + right) / 2, y));
        return [at(top + 3), at(bottom - 3)];
      });
      expect(seen).toEqual([true, true]);
    }
    const cut = `[".banners", ".navigation"].map((name) => document.querySelector(name)).map((one) => one.scrollHeight - one.clientHeight)`;
    expect(await page.evaluate(cut)).toEqual([0, 0]);
    expect(await page.locator(".main").evaluate(({ clientHeight }) => clientHeight)).toBeGreaterThan(150);
  });

  it("no column of the list, nor its name, is cut at any width, also beside a scroll bar", async () => {
    const { server, track } = await startSetting();
    await track("Ordered");
    const page = await openPage(server.url);
    await rowOf(page, "Ordered").waitFor();
    await page.evaluate(`document.styleSheets[0].insertRule(".grid { border-right: 15px solid }")`);
    for (let width = 320; width <= 1_400; width += 8) {
      await page.setViewportSize({ width, height: 400 });
      const cut = `[document.querySelector("#delivery-grid"), ...document.querySelectorAll(".head > *")]
        .filter((element) => element.scrollWidth > element.clientWidth)
        .map(({ className }) => className)`;
      expect([width, await page.evaluate(cut)]).toEqual([width, []]);
    }
  });

  it("the names of the screens are whole also where the browser's text is larger", async () => {
    const { server } = await startSetting();
    const page = await openPage(server.url);
    await page.getByRole("link", { name: "Settings" }).waitFor();
    await page.evaluate(`document.styleSheets[0].insertRule("html { font-size: 24px }")`);
    expect(await overflowOf(page.getByRole("navigation"))).toBe(0);
  });

  it.each([1280, 500])(
    "no text lies over another where the browser's text is twice as large, at %i px",
    async (width) => {
      const { server, track } = await startSetting();
      await track("Ordered", 100, { properties: { list: [1, 2, { deep: true }] } });
      const page = await openPage(server.url, { width });
      await rowOf(page, "u100").waitFor();
      await page.evaluate(`document.styleSheets[0].insertRule("html { font-size: 32px }")`);
      // How far what is written in the rows of a list reaches into each other.
      const overlaps = (rows: string): Promise<number> =>
        page.evaluate(`(() => {
          const texts = [...document.querySelectorAll(${JSON.stringify(rows)})].filter((text) => text.offsetHeight > 0);
          const boxes = texts.map((text) => {
            const range = document.createRange();
            range.selectNodeContents(text);
            return range.getBoundingClientRect();
          });
          const meet = (one, other) =>
            one.left < other.right && other.left < one.right && one.top < other.top && other.top < one.bottom - 1;
          return boxes.filter((one) => boxes.some((other) => meet(one, other))).length;
        })()`);
      const list = ".window .row > :is(.event, .user, .time)";
      await expect.poll(() => overlaps(list)).toBe(0);
      // The place of the rows is as high as they are.
      const lacking = `100 * document.querySelector(".window > *").offsetHeight - document.querySelector(".rows").offsetHeight`;
      await expect.poll(() => page.evaluate(lacking)).toBe(0);
      expect(await overflowOf(page.getByRole("banner"))).toBe(0);
      const sign = page.locator(".window .sign").first();
      expect(await sign.evaluate((element) => element.getBoundingClientRect().height)).toBe(28);
      await rowOf(page, "u100").click();
      await page.getByRole("heading", { name: "Facts" }).waitFor();
      expect(await page.locator(".json-line").count()).toBeGreaterThan(10);
      await expect.poll(() => overlaps(".json-line")).toBe(0);
      await expect.poll(() => overlaps(list)).toBe(0);
    },
  );

  it("a body is printed whole, since only the part of it that is in view was", async () => {
    const { server, track } = await startSetting();
    const properties = { list: Array.from({ length: 150 }, (_, n) => n), long: "long ".repeat(100) };
    await track("Ordered", 1, { properties });
    const page = await openPage(server.url);
    await rowOf(page, "Ordered").click();
    const body = page.getByRole("region", { name: "Body", exact: true });
    await body.waitFor();
    const lines = body.locator(".json-line");
    expect(await lines.count()).toBeLessThan(100);
    await page.emulateMedia({ media: "print" });
    await expect.poll(() => lines.count()).toBeGreaterThan(150);
    await expect.poll(() => lines.last().innerText()).toBe("}");
    const cut = await body.evaluate(({ scrollWidth, clientWidth, scrollHeight, clientHeight }) => [
      scrollWidth - clientWidth,
      scrollHeight - clientHeight,
    ]);
    expect(cut).toEqual([0, 0]);
    await page.emulateMedia({ media: "screen" });
    await expect.poll(() => lines.count()).toBeLessThan(100);
  });

  it("a delivery is printed whole, and the first rows of the list", async () => {
    const { server, track } = await startSetting();
    await track("Ordered", 200);
    const page = await openPage(server.url);
    const row = rowOf(page, "u200");
    await row.waitFor();
    await page.emulateMedia({ media: "print" });
    expect((await page.locator("#delivery-grid").boundingBox())?.height).toBeGreaterThan(500);
    // What scrolls goes to a page of its own, and the place of rows that are not drawn to pages without a row.
    const heights = `[".rows", ".window"].map((name) => document.querySelector(name).offsetHeight)`;
    const [rows = 0, drawn = 0] = await page.evaluate<number[]>(heights);
    expect(rows).toBe(drawn);
    expect(drawn).toBeLessThan(50 * 36);
    expect(
      await page.locator(".grid").evaluate((grid) => grid.computedStyleMap().get("overflow-y")?.toString()),
    ).toBe("visible");
    await page.emulateMedia({ media: "screen" });
    await row.click();
    await page.getByRole("heading", { name: "Facts" }).waitFor();
    await page.emulateMedia({ media: "print" });
    for (const selector of [".app", ".main", ".detail"]) {
      const part = page.locator(selector);
      expect(await part.evaluate(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)).toBe(0);
    }
    expect((await page.locator(".detail").boundingBox())?.width).toBeGreaterThan(1_000);
    expect(await page.locator("#delivery-grid").isVisible()).toBe(false);
  });
});
