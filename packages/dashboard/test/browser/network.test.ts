import type { Page } from "playwright-core";
import { describe, expect, it, vi } from "vitest";
import { missing, openPage, settled, useBrowser, why } from "../support/browser.ts";
import { expectFocus } from "../support/hands.ts";
import { layLink, type Link } from "../support/link.ts";
import { startSetting, type Setting } from "../support/setting.ts";

useBrowser();

/** What the browser says of a server that is away. */
const EXPECTED = /net::ERR_/;

async function openOver(
  setting: Setting,
  screen = "",
): Promise<{ readonly page: Page; readonly link: Link }> {
  const link = await layLink(setting.server.url);
  const page = await openPage(`${link.url}/#/${screen}`, { expected: EXPECTED });
  await page.getByText("Live", { exact: true }).waitFor();
  return { page, link };
}

async function choose(page: Page, screen: string): Promise<void> {
  await page.getByRole("link", { name: screen, exact: true }).click();
}

describe.skipIf(missing)(`a network that fails${why}`, () => {
  it("what was opened while the connection was lost is shown when it is back, without a reload", async () => {
    const setting = await startSetting();
    setting.receiver.mode = "missing";
    await setting.track("Ordered", 2);
    const { page, link } = await openOver(setting);
    const row = page.getByRole("row").filter({ hasText: "Ordered" });
    await row.first().waitFor();
    const lose = async (): Promise<void> => {
      link.cut();
      await page.getByText(/^Connection lost/).waitFor();
    };
    await lose();
    await row.first().click();
    await page.getByText(/^The server does not answer/).waitFor();
    link.mend();
    await page.getByText("The receiver answered 404").waitFor();

    await lose();
    await page.getByRole("button", { name: "Failed", exact: true }).click();
    await page.getByText("The list cannot be read").waitFor();
    link.mend();
    await row.first().waitFor();

    await lose();
    await choose(page, "Recover");
    link.mend();
    await page.getByText("2 deliveries failed or expired").waitFor();
    await expect.poll(() => page.getByRole("link", { name: "2 deliveries: 404" }).count()).toBe(1);
  });

  it("what was not read is not said to be none", async () => {
    const setting = await startSetting();
    const { page, link } = await openOver(setting);
    link.cut();
    await page.getByText(/^Connection lost/).waitFor();
    await choose(page, "Rejected & skipped");
    await page.getByRole("heading", { name: /^Skipped/ }).waitFor();
    expect(await page.getByText("None").count()).toBe(0);
    link.mend();
    await page.getByText("None.").first().waitFor();
  });

  it("what takes long to read is not said to be none meanwhile", async () => {
    const { server } = await startSetting();
    const page = await openPage("about:blank");
    for (const [screen, path, none] of [
      ["budget", "stats", "No attempts yet."],
      ["faults", "faults", "None. Attempts are sent as they are."],
    ] as const) {
      const held: (() => void)[] = [];
      await page.route(`**/api/${path}`, (route) => void held.push(() => void route.continue()));
      await page.goto(`${server.url}/?${screen}#/${screen}`);
      await vi.waitFor(() => expect(held.length).toBeGreaterThan(0));
      await page.getByRole("main").getByRole("heading").first().waitFor();
      expect(await page.getByText(none).count()).toBe(0);
      for (const go of held) go();
      await page.getByText(none).waitFor();
    }
  });

  it("says since when the server has not answered, though its connection is there", async () => {
    const setting = await startSetting();
    await setting.track("Ordered");
    const link = await layLink(setting.server.url);
    const page = await openPage(link.url, { clock: true });
    await page.getByRole("row").filter({ hasText: "Ordered" }).waitFor();
    link.freeze();
    await page.getByRole("row").filter({ hasText: "Ordered" }).click();
    await page.getByText("Reading…").waitFor();
    await page.clock.fastForward(6_000);
    await page.getByText(/^No answer since \d/).waitFor();
    link.mend();
    await page.getByText("The receiver answered 204").waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    expect(await page.getByText(/^No answer/).count()).toBe(0);
  });

  it("what a stream that is there has not brought is shown within minutes, since the number said 3 and the list had none", async () => {
    const { server, track } = await startSetting();
    const link = await layLink(server.url);
    const page = await openPage(link.url, { clock: true });
    let opened = 0;
    page.on("request", (request) => {
      if (request.url().includes("/api/events")) opened += 1;
    });
    // A stream that brings everything, or has nothing to bring, stays open.
    await track("Seen", 2);
    await expect.poll(() => page.getByRole("row").filter({ hasText: "Seen" }).count()).toBe(2);
    for (let minutes = 0; minutes < 4; minutes += 1) {
      await page.clock.runFor(60_000);
      await settled(page);
    }
    expect(opened).toBe(0);
    link.hush();
    await track("Unseen", 3);
    await vi.waitFor(async () => {
      await page.clock.runFor(10_000);
      expect(opened).toBeGreaterThan(0);
    });
    await expect.poll(() => page.getByRole("row").filter({ hasText: "Unseen" }).count()).toBe(3);
    await page.getByText("Live", { exact: true }).waitFor();
  });

  it("says within 15 seconds that the server does not answer, though nobody does anything", async () => {
    const { server, track } = await startSetting();
    await track("Ordered");
    const link = await layLink(server.url);
    const page = await openPage(link.url, { clock: true });
    link.freeze();
    await page.clock.fastForward(10_000);
    await page.clock.fastForward(5_000);
    await page.getByText(/^No answer since \d/).waitFor();
    link.mend();
    await page.getByText("Live", { exact: true }).waitFor();
    expect(await page.getByText(/^No answer/).count()).toBe(0);
  });

  it("says that the server does not answer also after the clock of this machine was set back", async () => {
    const setting = await startSetting();
    await setting.track("Ordered");
    const link = await layLink(setting.server.url);
    const page = await openPage(link.url, { clock: true });
    await page.getByRole("row").filter({ hasText: "Ordered" }).waitFor();
    await page.clock.setSystemTime(Date.now() - 3_600_000);
    link.freeze();
    await page.getByRole("row").filter({ hasText: "Ordered" }).click();
    await page.getByText("Reading…").waitFor();
    await page.clock.fastForward(6_000);
    await page.getByText(/^No answer since \d/).waitFor();
    link.mend();
    await page.getByText("The receiver answered 204").waitFor();
    expect(await page.getByText(/^No answer/).count()).toBe(0);
  });

  it("an action that takes long says so, and then that it is done", async () => {
    const setting = await startSetting();
    await setting.track("Ordered");
    const { page, link } = await openOver(setting);
    await page.getByRole("row").filter({ hasText: "Ordered" }).click();
    await page.getByRole("button", { name: /^Resend/ }).waitFor();
    link.freeze();
    await page.getByRole("button", { name: /^Resend/ }).click();
    await page.getByText("Working…").waitFor();
    link.mend();
    await page.getByText("Working…").waitFor({ state: "detached" });
    await page.getByText("Resent.").waitFor();
    await vi.waitFor(() => expect(setting.receiver.accepted).toHaveLength(2));
  });

  it("what comes between the list and a stream that opens late is shown", async () => {
    const { server, track } = await startSetting();
    await track("Before");
    const page = await openPage("about:blank");
    let open = (): void => {};
    await page.route("**/api/events*", (route) => (open = () => void route.continue()));
    await page.goto(server.url);
    await page.getByRole("row").filter({ hasText: "Before" }).waitFor();
    await track("Meanwhile");
    open();
    await page.getByRole("row").filter({ hasText: "Meanwhile" }).waitFor();
    expect(await page.locator(".rows .row").count()).toBe(2);
  });

  it(
    "seven tabs are one too many for no one: those in the background leave their connections to the others",
    { timeout: 120_000 },
    async () => {
      const { server, track } = await startSetting();
      await track("Ordered");
      const first = await openPage("about:blank", { alone: true });
      const context = first.context();
      // Without a window, a browser takes every tab for one that is looked at.
      await context.addInitScript(
        `Object.defineProperty(document, "hidden", { get: () => globalThis.isHidden === true })`,
      );
      const lookAt = (page: Page, isHidden: boolean): Promise<unknown> =>
        page.evaluate(`isHidden = ${isHidden}; dispatchEvent(new Event("visibilitychange"))`);
      const pages: Page[] = [];
      for (let tab = 0; tab < 7; tab += 1) {
        const page = await context.newPage();
        await page.goto(server.url);
        await page.getByRole("row").filter({ hasText: "Ordered" }).waitFor();
        await lookAt(page, true);
        pages.push(page);
      }
      const page = pages[0]!;
      await track("Later");
      await lookAt(page, false);
      await page.getByRole("row").filter({ hasText: "Later" }).waitFor();
      await page.getByRole("row").filter({ hasText: "Later" }).click();
      await page.getByText("The receiver answered 204").waitFor();
      expect(await page.locator(".rows .row").count()).toBe(2);
    },
  );

  it(
    "eight windows side by side are all answered and follow, since six of them left no connection for any request",
    { timeout: 120_000 },
    async () => {
      const { server, track } = await startSetting();
      await track("Ordered");
      const context = (await openPage("about:blank", { alone: true })).context();
      // Without a window, a browser takes every tab for one that is looked at.
      const pages: Page[] = [];
      for (let window = 0; window < 8; window += 1) {
        const page = await context.newPage();
        await page.goto(server.url);
        await page.getByRole("row").filter({ hasText: "Ordered" }).waitFor();
        pages.push(page);
      }
      await track("Later");
      for (const page of pages) {
        await page.getByRole("row").filter({ hasText: "Later" }).click();
        await page.getByText("The receiver answered 204").waitFor();
        await page.getByText("Live", { exact: true }).waitFor();
        expect(await page.locator(".rows .row").count()).toBe(2);
      }
    },
  );

  it("a window whose neighbours were closed keeps its stream again, since it opened one every five seconds until it was looked at", async () => {
    const { server } = await startSetting();
    const first = await openPage("about:blank", { clock: true });
    let opened = 0;
    first.on("request", (request) => (opened += Number(request.url().includes("/api/events"))));
    await first.goto(server.url);
    await first.getByText("Live", { exact: true }).waitFor();
    await first.evaluate(() => {
      const heard: number[] = [];
      const tabs = new BroadcastChannel("looked at");
      tabs.addEventListener("message", ({ data }) => heard.push(data as number));
      Object.assign(window, { heard, tabs });
    });
    const heard = (closed: boolean): Promise<number> =>
      first.evaluate((minus) => {
        const all = (window as unknown as { heard: number[] }).heard;
        return new Set(all.filter((number) => number < 0 === minus)).size;
      }, closed);
    const others = await Promise.all([1, 2, 3].map(() => first.context().newPage()));
    for (const page of others) await page.goto(server.url);
    await expect.poll(() => heard(false)).toBe(3);
    await first.clock.runFor(10_000);
    expect(opened).toBeGreaterThan(1);
    for (const page of others) await page.close({ runBeforeUnload: false });
    await expect.poll(() => heard(true)).toBe(3);
    await first.clock.runFor(10_000);
    opened = 0;
    await first.clock.runFor(30_000);
    expect(opened).toBe(0);
  });

  it("the number of deliveries is that of the filter, never that of the one before", async () => {
    const { server, track, receiver } = await startSetting();
    await track("Ordered", 3);
    receiver.mode = "missing";
    await track("Lost", 1);
    const page = await openPage(server.url);
    const count = page.locator(".count");
    await vi.waitFor(async () => expect(await count.innerText()).toMatch(/^4\b/));
    // First the list, then the number is read.
    const answers = [/deliveries\?.*state=failed/, /count\?state=failed/].map((pattern) => {
      let answer = (): void => {};
      const isAnswered = new Promise<void>((resolve) => (answer = resolve));
      void page.route(pattern, (route) => isAnswered.then(() => route.continue()));
      return answer;
    });
    await page.getByRole("button", { name: "Failed", exact: true }).click();
    await page.getByText("Reading…").waitFor();
    expect(await count.innerText()).not.toMatch(/\d/);
    answers[0]?.();
    await vi.waitFor(async () => expect(await page.getByRole("row").count()).toBe(2));
    expect(await count.innerText()).not.toMatch(/\d/);
    answers[1]?.();
    await vi.waitFor(async () => expect(await count.innerText()).toMatch(/^1 of 4\b/));
  });

  it("the list and the number of deliveries lose those that are no longer kept", async () => {
    const { server, track, api } = await startSetting();
    await track("Ordered", 3);
    const page = await openPage(server.url, { clock: true });
    const count = page.locator(".count");
    await vi.waitFor(async () => expect(await count.innerText()).toMatch(/^3\b/));
    await api("POST", "/clock", { advance: "8d" });
    // What is no longer kept is removed when something is stored.
    await track("Later");
    await vi.waitFor(async () => expect(await api("GET", "/deliveries/count")).toMatchObject({ count: 1 }));
    await vi.waitFor(async () => expect(await count.innerText()).toMatch(/^4\b/));
    await page.clock.fastForward(61_000);
    await vi.waitFor(async () => expect(await count.innerText()).toMatch(/^1\b/));
    await vi.waitFor(async () => expect(await page.locator(".rows .row").allInnerTexts()).toHaveLength(1));
    await page.getByRole("row").filter({ hasText: "Later" }).waitFor();
  });

  it("a delivery of the list that is no longer kept says so when it is opened, and goes when nobody looks into the list", async () => {
    const { server, track, api } = await startSetting();
    await track("Ordered", 2);
    const page = await openPage(server.url, { expected: /404/ });
    const row = page.getByRole("row").filter({ hasText: "Ordered" });
    await row.first().waitFor();
    await api("POST", "/clock", { advance: "8d" });
    await track("Later");
    await vi.waitFor(async () => expect(await api("GET", "/deliveries/count")).toMatchObject({ count: 1 }));
    await row.last().click();
    const said = page.getByRole("alert").filter({ hasText: "or the server after keepFor" });
    await said.waitFor();
    await said.getByRole("button", { name: "Back to the list" }).click();
    await expectFocus(page.locator("#delivery-grid"));
    // Nothing moves under the pointer or the focus, if it had not when the list was hidden.
    await page.getByRole("searchbox").focus();
    await page.mouse.move(1, 1);
    await row.first().waitFor({ state: "detached" });
    await page.getByRole("row").filter({ hasText: "Later" }).waitFor();
  });
});
