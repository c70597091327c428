import type { Locator, Page } from "playwright-core";
import { describe, expect, it, vi } from "vitest";
import { missing, openPage, settled, useBrowser, why } from "../support/browser.ts";
import { startSetting, type Setting } from "../support/setting.ts";

useBrowser();

/** The computed value of a property. */
const styleOf = (target: Locator, property: string): Promise<string> =>
  target.first().evaluate((element, name) => {
    const { defaultView } = element.ownerDocument;
    return defaultView?.getComputedStyle(element).getPropertyValue(name) ?? "";
  }, property);

/** Notes after each key whether the page has taken it. */
const NOTE_KEYS = `
  globalThis.taken = [];
  addEventListener("keydown", ({ key, defaultPrevented }) => defaultPrevented && taken.push(key));
`;
/** As where the page comes from another machine without TLS. */
const NO_CLIPBOARD = `Object.defineProperty(navigator, "clipboard", { value: undefined })`;
const USED = "/jkrecpn?";
const PRINTABLE = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index));

/** What a person sees and where they are. */
const stateOf = (page: Page): Promise<unknown> =>
  page.evaluate(`[document.body.innerText, location.href, document.activeElement.id, taken]`);

async function openFirst({ server, track }: Setting): Promise<Page> {
  await track("Ordered", 5);
  const page = await openPage(server.url, { init: NOTE_KEYS });
  await page.getByRole("row").filter({ hasText: "delivered" }).nth(2).click();
  await page.getByRole("region", { name: "Body" }).first().waitFor();
  await settled(page);
  return page;
}

describe.skipIf(missing)(`what a person prefers${why}`, () => {
  it("forced colours: what is chosen, what is loud and how long it took can still be seen", async () => {
    const { server, receiver, track, api } = await startSetting();
    receiver.mode = "gullible";
    await api("POST", "/faults", { fault: "bad_signature", times: 1 });
    await track("Forged");
    await track("Ordered", 2);
    const page = await openPage(server.url, { forcedColors: "active" });
    const rows = page.getByRole("row");
    await rows.filter({ hasText: "Ordered" }).first().click();
    await page.getByRole("region", { name: "Body" }).first().waitFor();
    const canvas = await styleOf(page.locator("body"), "background-color");
    for (const [chosen, other] of [
      [page.locator("[aria-pressed=true]"), page.locator("[aria-pressed=false]")],
      [page.locator("nav [aria-current=page]"), page.locator("nav a:not([aria-current])")],
      [page.locator("[aria-selected=true]"), page.locator("[aria-selected=false]")],
    ] as const) {
      expect(await styleOf(chosen, "outline-style")).toBe("solid");
      expect(await styleOf(other, "outline-style")).toBe("none");
    }
    const alarm = page.getByRole("alert");
    expect(await styleOf(alarm, "background-color")).not.toBe(canvas);
    expect(await styleOf(alarm, "border-top-width")).toBe("4px");
    expect(await styleOf(page.locator(".row .mark.loud"), "background-color")).not.toBe(canvas);
    const fill = page.locator(".took-bar .fill");
    expect(await styleOf(fill, "background-color")).not.toBe(
      await styleOf(page.locator(".track"), "background-color"),
    );
    const pause = page.getByRole("button", { name: /^Pause/ });
    await page.keyboard.press("Tab");
    await pause.focus();
    expect(await styleOf(pause, "outline-style")).toBe("solid");
  });

  it("nothing changes gradually, whether the person wants less motion or not", async () => {
    const { server, track } = await startSetting();
    await track("Ordered", 3);
    const page = await openPage(server.url, { motion: "no-preference" });
    await page.getByRole("row").filter({ hasText: "Ordered" }).first().hover();
    const moving = await page.evaluate(`[...document.querySelectorAll("*")].filter((element) => {
      const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(element);
      return !/^0s(, 0s)*$/.test(transitionDuration) || animationName !== "none" || scrollBehavior === "smooth";
    }).length`);
    expect(moving).toBe(0);
  });

  it("a screen reader is told news at most every 5 s, and then how it stands", async () => {
    const { server, track } = await startSetting();
    await track("Before");
    const page = await openPage(server.url, { clock: true });
    await page.getByRole("row").filter({ hasText: "Before" }).waitFor();
    await page.evaluate(`(() => {
      globalThis.told = [];
      const region = document.querySelector("[role=status].visually-hidden");
      const note = () => told.push([performance.now(), region.textContent]);
      new MutationObserver(note).observe(region, { childList: true, characterData: true, subtree: true });
    })()`);
    await page.clock.pauseAt(Date.now() + 60_000);
    const waitUntil = (selector: string, text: RegExp): Promise<void> =>
      vi.waitFor(async () => {
        await page.clock.runFor(500);
        expect(await page.locator(selector).innerText()).toMatch(text);
      });
    for (let sent = 1; sent <= 30; sent += 1) {
      await track("Later");
      await waitUntil(".count", new RegExp(`^${sent + 1}\\b`));
    }
    await waitUntil("[role=status].visually-hidden", /^31 deliveries/);
    const told = await page.evaluate<[number, string][]>("told");
    expect(told.length).toBeGreaterThan(2);
    const gaps = told.slice(1).map(([at], index) => at - (told[index]?.[0] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(4_999);
  });

  it("keys that mean nothing do nothing, and are left to the browser", async () => {
    const page = await openFirst(await startSetting());
    await page.locator("#delivery-grid").focus();
    const before = await stateOf(page);
    for (const key of PRINTABLE) if (!USED.includes(key)) await page.keyboard.press(key);
    expect(await stateOf(page)).toEqual(before);
  });

  it("without single keys no letter does anything, in the list and beside it; arrows do", async () => {
    const setting = await startSetting();
    const page = await openFirst(setting);
    await page.keyboard.press("?");
    await page.getByRole("checkbox", { name: /Single letters/ }).uncheck();
    await page.keyboard.press("Escape");
    const { requests } = setting.receiver;
    for (const place of ["#delivery-grid", "#main"]) {
      await page.locator(place).focus();
      await page.evaluate("taken.length = 0");
      const before = await stateOf(page);
      for (const key of USED) await page.keyboard.press(key);
      expect(await stateOf(page)).toEqual(before);
    }
    expect(setting.receiver.requests).toBe(requests);
    const grid = page.locator("#delivery-grid");
    await grid.focus();
    const active = await grid.getAttribute("aria-activedescendant");
    await page.keyboard.press("ArrowDown");
    await vi.waitFor(async () => expect(await grid.getAttribute("aria-activedescendant")).not.toBe(active));
  });

  it("a key that is held down acts once", async () => {
    const setting = await startSetting();
    const page = await openFirst(setting);
    for (let times = 0; times < 10; times += 1) {
      const resent = page.getByText("See the resent one").waitFor();
      await page.keyboard.down("r");
      await resent;
    }
    await page.keyboard.up("r");
    expect(await setting.api("GET", "/deliveries/count")).toMatchObject({ count: 6 });
  });

  it("what is not shown as text can be copied also where the page comes without TLS", async () => {
    const { server, track } = await startSetting();
    await track("Ordered");
    const page = await openPage(server.url, { init: NO_CLIPBOARD });
    await page.getByRole("row").filter({ hasText: "Ordered" }).click();
    await page.getByRole("button", { name: "Copy as curl" }).click();
    await page.locator(".notice").filter({ hasText: "Copied the curl command." }).waitFor();
    const search = page.getByRole("searchbox");
    await search.focus();
    await page.keyboard.press("ControlOrMeta+v");
    expect(await search.inputValue()).toMatch(/^curl .*X-Signature/);
  });

  it("who sees is told, too, that the browser forbids copying", async () => {
    const { server, track } = await startSetting();
    await track("Ordered");
    const init = `${NO_CLIPBOARD}; document.execCommand = () => false`;
    const page = await openPage(server.url, { init, clock: true });
    await page.getByRole("row").filter({ hasText: "Ordered" }).click();
    await page.getByRole("button", { name: "Copy as curl" }).click();
    const told = page.locator(".notice").filter({ hasText: "The browser forbids copying here." });
    // It is shown for five seconds.
    expect((await told.boundingBox())?.width).toBeGreaterThan(100);
    await page.clock.fastForward(6_000);
    await told.waitFor({ state: "detached" });
  });

  it("a screen reader is told again what is done again", async () => {
    const page = await openFirst(await startSetting());
    const told = page.locator(".notice");
    await page.keyboard.press("c");
    await told.getByText("Copied the curl command.").waitFor();
    const before = await told.textContent();
    await page.keyboard.press("c");
    await expect.poll(() => told.textContent()).not.toBe(before);
  });
});
