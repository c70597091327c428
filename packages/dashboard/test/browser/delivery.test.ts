import { describe, expect, it, vi } from "vitest";
import type { Page } from "playwright-core";
import { missing, openPage, useBrowser, why } from "../support/browser.ts";
import { startReceiver, startSetting } from "../support/setting.ts";

const clipboard = (page: Page): Promise<string> => page.evaluate("navigator.clipboard.readText()");

async function open(page: Page, event: string): Promise<void> {
  await page.getByRole("row").filter({ hasText: event }).first().click();
  await page.getByRole("heading", { level: 2 }).filter({ hasText: event }).waitFor();
}

useBrowser();

describe.skipIf(missing)(`one delivery${why}`, () => {
  it("is not shown as it was when somebody else has removed it", async () => {
    const { server, track, api } = await startSetting();
    await track("Ordered");
    const page = await openPage(server.url, { expected: /404/ });
    await page.getByRole("row").filter({ hasText: "Ordered" }).click();
    await page.getByText("The receiver answered 204").waitFor();
    await api("DELETE", "/deliveries");
    await page.getByText("Delivery not found. Somebody may have removed it").waitFor();
    expect(await page.getByRole("button", { name: /^Resend/ }).count()).toBe(0);
  });

  it("says why it waits, counts down, and shows four hours of retries that end in a delivery", async () => {
    const { server, receiver, track, api } = await startSetting();
    receiver.mode = "down";
    await track("Ordered");
    const page = await openPage(server.url);
    await open(page, "Ordered");
    const detail = page.getByRole("region", { name: "Delivery", exact: true });
    await detail.getByText("Waits for its 2nd try: the receiver answered 503.").waitFor();
    expect(await detail.getByRole("timer").innerText()).toMatch(/^in \d+ (?:s|min(?: \d+ s)?)$|^now$/);
    await api("POST", "/clock", { advance: "3h" });
    const attempts = detail.getByRole("list").filter({ has: page.getByRole("button", { name: /503/ }) });
    await vi.waitFor(async () => expect(await attempts.getByRole("button").count()).toBeGreaterThan(5));
    const lanes = detail.getByRole("img", { name: /attempts to 1 endpoint in/ });
    const box = await lanes.boundingBox();
    expect(box?.width).toBeLessThan(1_600);
    receiver.mode = "verifies";
    await api("POST", "/clock", { advance: "1h" });
    await detail.getByText(/The receiver answered 204 at the \d+\w\w try/).waitFor();
    expect(await detail.getByRole("timer").count()).toBe(0);
    await detail.getByRole("button", { name: /^Show \d+ earlier/ }).click();
    await detail.getByRole("button", { name: /^1 .*503/ }).click();
    await detail.getByText("Service unavailable: no database").waitFor();
    await detail.getByText(/Request headers, as sent/).click();
    expect(await detail.getByText(/^[0-9a-f]{40}$/).count()).toBeGreaterThan(0);
  });

  it("says when in UTC, too, as logs of servers do", async () => {
    const { server, track, api } = await startSetting();
    await track("Ordered");
    const { deliveries } = (await api("GET", "/deliveries")) as { deliveries: { acceptedAt: string }[] };
    const page = await openPage(server.url);
    await open(page, "Ordered");
    const facts = page.getByRole("region", { name: "Facts" });
    await facts.getByText("Accepted", { exact: true }).waitFor();
    expect(await facts.innerText()).toContain(deliveries[0]?.acceptedAt);
    // In the hour that is there twice, when summer time ends, local times alone go back.
    const attempt = page.locator(".attempts .time").first();
    expect(await attempt.getAttribute("title")).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    // Times of attempts are local ones, also on paper.
    await page.emulateMedia({ media: "print" });
    await page.getByRole("heading", { name: "Attempts times in UTC" }).waitFor();
  });

  it("is tried now, where it would wait", async () => {
    const { server, receiver, track } = await startSetting();
    receiver.mode = "down";
    await track("Ordered");
    const page = await openPage(server.url);
    await open(page, "Ordered");
    receiver.mode = "verifies";
    await page.getByRole("button", { name: "Try now" }).click();
    await page.getByText("The receiver answered 204 at the 2nd try").waitFor();
    expect(receiver.accepted).toHaveLength(1);
  });

  it("is resent by r: still failing, then fixed", async () => {
    const { server, receiver, track } = await startSetting();
    receiver.mode = "missing";
    await track("Ordered");
    const page = await openPage(server.url);
    await open(page, "Ordered");
    await page.getByText("Failed, without a retry: the receiver answered 404.").waitFor();
    await page.keyboard.press("r");
    await page.getByText("still failing").waitFor();
    receiver.mode = "verifies";
    await page.getByRole("button", { name: /^Resend/ }).click();
    await page.getByText("fixed", { exact: true }).waitFor();
    await page.getByRole("link", { name: "See the resent one" }).click();
    await page.getByRole("link", { name: "See the original" }).waitFor();
    expect(receiver.accepted).toHaveLength(1);
  });

  it("is resent changed, and forged, by e", async () => {
    const { server, receiver, track } = await startSetting();
    await track("Ordered");
    const page = await openPage(server.url);
    await open(page, "Ordered");
    await page.keyboard.press("e");
    const body = page.getByRole("textbox", { name: "Body", exact: true });
    await page.locator("textarea:focus").waitFor();
    await body.fill((await body.inputValue()).replace('"Ordered"', '"Ordered again"'));
    await page.getByRole("button", { name: "Resend changed" }).click();
    await page.getByText("still delivered").waitFor();
    expect(receiver.accepted.at(-1)).toContain("Ordered again");
    await page.keyboard.press("e");
    await page.getByLabel("Fault").selectOption("bad_signature");
    await page.getByRole("button", { name: "Resend", exact: true }).click();
    await page.getByRole("row").filter({ hasText: "forgery rejected" }).waitFor();
  });

  it("has its keys from the moment that it is shown", async () => {
    const { server, track } = await startSetting();
    await track("Ordered");
    const page = await openPage(server.url);
    await page.evaluate(`new MutationObserver((_, observer) => {
      if (!document.querySelector(".detail h2")) return;
      observer.disconnect();
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "e", bubbles: true }));
    }).observe(document.body, { childList: true, subtree: true })`);
    await page.getByRole("row").filter({ hasText: "Ordered" }).click();
    await expect.poll(() => page.locator("textarea:focus").count()).toBe(1);
  });

  it("keeps an edit that is open while the server cannot read the delivery", async () => {
    const { server, receiver, track, api } = await startSetting();
    receiver.mode = "down";
    await track("Ordered");
    const page = await openPage(server.url, { expected: /503/ });
    await open(page, "Ordered");
    await page.keyboard.press("e");
    const body = page.getByRole("textbox", { name: "Body", exact: true });
    await body.fill("typed by hand");
    let isFailing = true;
    const failing = (): boolean => isFailing;
    await page.route(/\/api\/deliveries\/[0-9a-f-]{36}$/, (route) =>
      failing()
        ? route.fulfill({ status: 503, json: { detail: "The store does not answer." } })
        : route.continue(),
    );
    const isAnswered = page.waitForResponse((response) => response.status() === 503);
    await api("POST", "/clock", { advance: "next" });
    await isAnswered;
    isFailing = false;
    await api("POST", "/clock", { advance: "next" });
    await page.getByText("Waits for its 4th try").waitFor();
    expect(await body.inputValue()).toBe("typed by hand");
  });

  it("shows its body as lines, exactly, and byte by byte, and is copied as curl and as a test", async () => {
    const { server, track } = await startSetting();
    await track("Ordered");
    const page = await openPage(server.url);
    await open(page, "Ordered");
    await page.getByRole("region", { name: "Body", exact: true }).getByText('"event": ').waitFor();
    await page.getByRole("button", { name: "Exact" }).click();
    const exact = await page.getByLabel("Body, exactly as sent").innerText();
    expect(JSON.parse(exact)).toMatchObject({ type: "track", event: "Ordered" });
    await page.getByRole("button", { name: "Bytes" }).click();
    expect(await page.getByLabel("Body, byte by byte").innerText()).toMatch(/^000000 {2}7b 22/);
    await page.keyboard.press("c");
    await vi.waitFor(async () => expect(await clipboard(page)).toMatch(/^curl .*X-Signature: [0-9a-f]{40}/s));
    await page.getByRole("button", { name: "Copy as a vitest test" }).click();
    await vi.waitFor(async () => expect(await clipboard(page)).toContain('from "vitest"'));
  });

  it("takes the signature apart until the difference is found", async () => {
    const { server, receiver, track } = await startSetting({ secret: "another secret" });
    await track("Ordered");
    expect(receiver.accepted).toEqual([]);
    const page = await openPage(server.url);
    await open(page, "Ordered");
    await page.getByRole("region", { name: "Delivery", exact: true }).getByText(/401/).first().waitFor();
    await page.getByText("Check the signature").click();
    await page.getByText("the same", { exact: true }).waitFor();
    await page.getByLabel(/^Its secret/).fill("another secret ");
    await page.getByRole("button", { name: "Find the difference" }).click();
    await page
      .getByText(/does not match/)
      .last()
      .waitFor();
    await page
      .getByText(/space|white/i)
      .last()
      .waitFor();
  });

  it("says what it waits for while its destination is disabled or has gone, and offers no try, which would not be made", async () => {
    const { server, receiver, track, api } = await startSetting();
    receiver.mode = "down";
    await track("Ordered");
    const page = await openPage(server.url);
    await open(page, "Ordered");
    const detail = page.getByRole("region", { name: "Delivery", exact: true });
    await detail.getByRole("timer").waitFor();
    const tries = detail.getByRole("button", { name: "Try now" });
    const row = page.getByRole("row").filter({ hasText: "Ordered" });
    expect([await tries.count(), await row.locator(".state").innerText()]).toEqual([1, "retrying"]);
    const [source] = (await api("GET", "/sources")) as { name: string; destinations: { name: string }[] }[];
    const path = `/sources/${source?.name}/destinations/${source?.destinations[0]?.name}`;
    const endpoints = [{ url: receiver.url }];
    await api("PUT", path, { endpoints, enabled: false });
    await detail.getByText(/Its destination is disabled, so it waits\./).waitFor();
    // The sentence is read with the delivery, and the rest follows from the settings: either is read first.
    await expect.poll(() => detail.getByRole("timer").count()).toBe(0);
    await expect
      .poll(async () => [await tries.count(), await row.locator(".state").innerText()])
      .toEqual([0, "waiting"]);
    await api("PUT", path, { endpoints, enabled: true });
    await detail.getByRole("timer").waitFor();
    await detail.getByText(/The delivery is retried for 4 h\./).waitFor();
    await api("DELETE", path);
    await detail.getByText(/Its destination has no settings, so it waits\./).waitFor();
    await expect.poll(() => detail.getByRole("timer").count()).toBe(0);
  });

  it("counts tries as the sentence does, in the list and its attempts, since with two endpoints the list had twice as many", async () => {
    const { server, receiver, track, api } = await startSetting();
    const other = await startReceiver();
    receiver.mode = other.mode = "down";
    const [source] = (await api("GET", "/sources")) as { name: string; destinations: { name: string }[] }[];
    const endpoints = [{ url: receiver.url }, { url: other.url }];
    await api("PUT", `/sources/${source?.name}/destinations/${source?.destinations[0]?.name}`, { endpoints });
    await track("Listed");
    const page = await openPage(server.url);
    await track("Told");
    for (const event of ["Listed", "Told"]) {
      const row = page.getByRole("row").filter({ hasText: event });
      await expect.poll(() => row.locator(".tries").innerText()).toBe("1");
      await open(page, event);
      await page.getByText("Waits for its 2nd try").waitFor();
      expect(await page.locator(".attempts .number").allInnerTexts()).toEqual(["1", "1"]);
      await page.getByRole("button", { name: "Try now" }).click();
      await page.getByText("Waits for its 3rd try").waitFor();
      expect(await page.locator(".attempts .number").allInnerTexts()).toEqual(["1", "1", "2", "2"]);
      await page.getByRole("heading", { name: /^Response to try 2/ }).waitFor();
      await page.getByRole("button", { name: /^Close/ }).click();
      await expect.poll(() => row.locator(".tries").innerText()).toBe("2");
    }
  });

  it("keeps what is typed about its signature when another attempt follows", async () => {
    const { server, receiver, track } = await startSetting();
    receiver.mode = "down";
    await track("Ordered");
    const page = await openPage(server.url);
    await open(page, "Ordered");
    await page.getByText("Check the signature").click();
    await page.getByLabel(/^Its secret/).fill("another secret");
    await page.getByRole("button", { name: "Try now" }).click();
    await page.getByText("Waits for its 3rd try").waitFor();
    await page.getByRole("heading", { name: /^Response to try 2/ }).waitFor();
    expect(await page.getByLabel(/^Its secret/).inputValue()).toBe("another secret");
  });

  it("says of the original that it repeats only what was read of it", async () => {
    const { server, track, api } = await startSetting();
    await track("Ordered");
    const { deliveries } = (await api("GET", "/deliveries")) as { deliveries: { id: string }[] };
    const original = deliveries[0]?.id;
    const copy = (await api("POST", `/deliveries/${original}/resend`, {})) as { deliveries: string[] };
    const page = await openPage(server.url);
    let pass = (): void => {};
    const isPassed = new Promise<void>((resolve) => (pass = resolve));
    await page.route(new RegExp(`/api/deliveries/${original}$`), (route) =>
      isPassed.then(() => route.continue()),
    );
    await page.goto(`${server.url}/#/deliveries?id=${copy.deliveries[0]}`);
    await page.getByText("See the original").waitFor();
    expect(await page.locator(".repeats").innerText()).toBe("See the original");
    pass();
    await page.getByText(/Before: delivered/).waitFor();
  });

  it("shows the newest state, though an earlier answer comes last", async () => {
    const { server, receiver, track, api } = await startSetting();
    receiver.mode = "down";
    await track("Ordered");
    const page = await openPage(server.url, { clock: true });
    let answer = (): void => {};
    const isAnswered = new Promise<void>((resolve) => (answer = resolve));
    const isEarly = /\/api\/deliveries\/[0-9a-f-]{36}$/;
    await page.route(
      isEarly,
      async (route) => {
        const response = await route.fetch();
        await isAnswered;
        await route.fulfill({ response });
      },
      { times: 1 },
    );
    const asked = page.waitForRequest(isEarly);
    await page.getByRole("row").filter({ hasText: "Ordered" }).click();
    await asked;
    receiver.mode = "verifies";
    await api("POST", "/clock", { advance: "1h" });
    await page.getByRole("row").filter({ hasText: "delivered" }).waitFor();
    await page.clock.runFor(1_000);
    // Whatever was asked before this has been answered.
    await page.evaluate("fetch('/api/status').then((response) => response.text())");
    answer();
    await page.locator(".detail-head.good").waitFor();
    await page.evaluate("fetch('/api/status').then((response) => response.text())");
    expect(await page.locator(".detail-head").innerText()).toContain("delivered");
  });
});
