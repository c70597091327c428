import { sqliteStore } from "@countersign/sender";
import type { StoreContext } from "@countersign/sender/store";
import { createServer } from "@countersign/server";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { changedStore } from "../../../sender/test/support/changed-store.ts";
import { missing, openPage, settled, useBrowser, why } from "../support/browser.ts";
import { SECRET, startReceiver, startSetting } from "../support/setting.ts";

/** What the browser says of a server that is away. */
const LOST = /net::ERR_/;

/** As Safari does, with its number; Firefox takes 200, and Chromium ignores what is more. */
const REFUSE_MANY = `(() => {
  const { replaceState } = history;
  const changes = [];
  history.replaceState = (...change) => {
    const now = performance.now();
    while (changes[0] < now - 10_000) changes.shift();
    if (changes.length === 100)
      throw new DOMException("Attempt to use history.replaceState() more than 100 times per 10 seconds", "SecurityError");
    changes.push(now);
    replaceState.apply(history, change);
  };
})()`;

/** Keeps what the page has heard of its stream. */
const HEAR = `(() => {
  globalThis.heard = "";
  const { addEventListener } = EventSource.prototype;
  EventSource.prototype.addEventListener = function (name, listener) {
    addEventListener.call(this, name, (event) => {
      listener(event);
      globalThis.heard += event.data;
    });
  };
})()`;

useBrowser();

describe.skipIf(missing)(`the list of deliveries${why}`, () => {
  it("shows what is there and what arrives, without being asked", async () => {
    const { server, receiver, track } = await startSetting();
    await track("Before");
    const page = await openPage(server.url);
    const rows = page.getByRole("row");
    await rows.filter({ hasText: "Before" }).filter({ hasText: "delivered" }).waitFor();
    await track("After", 3);
    await vi.waitFor(async () => expect(await rows.filter({ hasText: "After" }).count()).toBe(3));
    receiver.mode = "missing";
    await track("Gone");
    const gone = rows.filter({ hasText: "Gone" });
    await gone.filter({ hasText: "failed" }).filter({ hasText: "404" }).waitFor();
    await expect.poll(() => page.getByRole("grid").getAttribute("aria-rowcount")).toBe("6");
    expect(await gone.getAttribute("aria-rowindex")).toBe("2");
  });

  it("counts what arrives, also before the server's clock is known", async () => {
    const { server, track } = await startSetting();
    await track("Before");
    let known = (): void => {};
    const isKnown = new Promise<void>((resolve) => (known = resolve));
    const page = await openPage("about:blank");
    await page.route("**/api/clock", async (route) => {
      await isKnown;
      await route.continue();
    });
    await page.goto(server.url);
    const grid = page.getByRole("grid");
    await vi.waitFor(async () => expect(await grid.getAttribute("aria-rowcount")).toBe("2"));
    // The virtual clock of the server is years behind that of the browser.
    await track("After", 3);
    await vi.waitFor(async () => expect(await grid.getAttribute("aria-rowcount")).toBe("5"));
    known();
  });

  it("does not move under the pointer or the focus: new rows wait, and n shows them", async () => {
    const { server, track } = await startSetting();
    await track("First", 5);
    const page = await openPage(server.url);
    const grid = page.getByRole("grid");
    await page.getByRole("row").filter({ hasText: "First" }).first().hover();
    await track("Second", 37);
    await page.getByRole("button", { name: /^37 new/ }).waitFor();
    expect(await page.getByRole("row").filter({ hasText: "Second" }).count()).toBe(0);
    await grid.focus();
    await page.mouse.move(1, 1);
    await track("Third");
    await page.getByRole("button", { name: /^38 new/ }).waitFor();
    await page.keyboard.press("n");
    await page.getByRole("row").filter({ hasText: "Third" }).waitFor();
    await expect.poll(() => page.getByRole("button", { name: /new/ }).count()).toBe(0);
  });

  it("does not move between the press of a button and its release: the click was lost when a row had come just before", async () => {
    const { server, track } = await startSetting();
    await track("First");
    const page = await openPage(server.url, { clock: true, init: HEAR });
    await page.clock.pauseAt(Date.now() + 10_000);
    await settled(page);
    await page.clock.runFor(1_000);
    const row = page.getByRole("row").filter({ hasText: "Second" });
    await track("Second");
    await row.waitFor();
    // So soon after that, the list is not drawn again.
    await track("Third");
    await vi.waitFor(async () => expect(await page.evaluate("heard")).toContain("Third"));
    const { x = 0, y = 0 } = (await row.boundingBox()) ?? {};
    await page.mouse.move(x + 9, y + 9);
    await page.mouse.down();
    // What the press leads to is drawn then.
    await page.evaluate("fetch('/api/status').then((response) => response.text())");
    await page.mouse.up();
    await page.clock.resume();
    await page.getByRole("heading", { level: 2 }).filter({ hasText: "Second" }).waitFor();
    await page.getByRole("button", { name: /^1 new/ }).waitFor();
  });

  it("pauses and goes on, by p and by its button", async () => {
    const { server, track } = await startSetting();
    await track("First");
    const page = await openPage(server.url);
    await page.getByRole("row").filter({ hasText: "First" }).waitFor();
    await page.keyboard.press("p");
    await track("Second");
    await page.getByRole("button", { name: /^1 new/ }).waitFor();
    await page.getByRole("button", { name: /Resume/ }).click();
    await page.getByRole("row").filter({ hasText: "Second" }).waitFor();
    await expect.poll(() => page.getByRole("button", { name: /new/ }).count()).toBe(0);
  });

  it("is searched and filtered, keeps that in the URL, and says when nothing matches", async () => {
    const { server, receiver, track } = await startSetting();
    await track("Order Completed", 3);
    receiver.mode = "missing";
    await track("Signed Up", 2);
    const page = await openPage(server.url);
    const rows = page.getByRole("row").filter({ hasNotText: "Time" });
    await vi.waitFor(async () => expect(await rows.count()).toBe(5));
    await page.getByRole("button", { name: "Failed" }).click();
    await vi.waitFor(async () => expect(await rows.count()).toBe(2));
    expect(page.url()).toContain("state=failed");
    await page.keyboard.press("/");
    await page.keyboard.type("Order");
    await page.getByText("0 of 5 deliveries match").waitFor();
    await page.getByText("A search finds events that begin with it").waitFor();
    expect(await page.getByRole("searchbox").getAttribute("title")).toMatch(/Upper and lower case differ\.$/);
    expect(await page.getByRole("link", { name: "Rejected & skipped" }).count()).toBe(1);
    // What was rejected is no delivery, whatever the filter.
    await fetch(`${server.url}/v1/track`, { method: "POST", body: '{"writeKey":"any","userId":"u"}' });
    const rejected = page.getByRole("main").getByRole("link", { name: "Rejected & skipped" });
    expect(await rejected.getAttribute("href").then(String)).toBe("#/rejected");
    await page.getByRole("link", { name: "Clear the filters" }).click();
    await vi.waitFor(async () => expect(await rows.count()).toBe(5));
    await page.goBack();
    await page.getByText("0 of 5 deliveries match").waitFor();
    await page.goto(`${server.url}/#/deliveries?q=Order&state=delivered`);
    await vi.waitFor(async () => expect(await rows.count()).toBe(3));
  });

  it("shows a filter of its URL that its lists do not have, so that it can be removed", async () => {
    const { server, track } = await startSetting();
    await track("Ordered");
    const { destinations } = await server.sender.stats();
    const page = await openPage(server.url);
    await page.goto(
      `${server.url}/#/deliveries?type=track&type=page&destination=${destinations[0]?.destination}`,
    );
    await page.getByRole("row").filter({ hasText: "Ordered" }).waitFor();
    const type = page.getByRole("combobox", { name: "type" });
    const destination = page.getByRole("combobox", { name: "destination" });
    expect(await type.locator("option:checked").innerText()).toBe("track, page");
    // There is no other destination to choose.
    expect(await destination.locator("option:checked").innerText()).toBe(destinations[0]?.destination);
    await destination.selectOption("All destinations");
    await type.selectOption("All types");
    expect(page.url()).toBe(`${server.url}/#/deliveries`);
    expect(await destination.count()).toBe(0);
  });

  it("takes into a filter what comes to match it, and lets go what no longer does", async () => {
    const { server, receiver, track, api } = await startSetting();
    const page = await openPage(`${server.url}/#/deliveries?state=pending`);
    await page.getByText("0 of 0 deliveries match").waitFor();
    receiver.mode = "down";
    await track("Waiting", 2);
    const rows = page.getByRole("row").filter({ hasText: "Waiting" });
    await vi.waitFor(async () => expect(await rows.count()).toBe(2));
    receiver.mode = "verifies";
    await api("POST", "/clock", { advance: "4h" });
    await page.getByText("0 of 2 deliveries match").waitFor();
  });

  it("is walked with arrows and letters; Enter opens a delivery, and Esc goes back to its row", async () => {
    const { server, track } = await startSetting();
    await track("Ordered", 60);
    const page = await openPage(server.url);
    const grid = page.getByRole("grid");
    await grid.focus();
    const activeRow = async (): Promise<string> => {
      const id = await grid.getAttribute("aria-activedescendant");
      return (await page.locator(`[id="${id}"]`).getAttribute("aria-rowindex")) ?? "";
    };
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    expect(await activeRow()).toBe("3");
    await page.keyboard.press("End");
    expect(await activeRow()).toBe("61");
    await page.keyboard.press("Enter");
    await page.locator("h2:focus").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("#delivery-grid:focus").waitFor();
    expect(await activeRow()).toBe("61");
    expect(await page.getByRole("region", { name: "Delivery", exact: true }).count()).toBe(0);
  });

  it("is walked by a key that is held down, and the address follows, since a browser refuses to change it that often", async () => {
    const { server, track } = await startSetting();
    await track("Ordered", 180);
    const page = await openPage(server.url, { init: REFUSE_MANY });
    await page.getByRole("row").filter({ hasText: "u180" }).click();
    await page.getByRole("heading", { name: "for u180" }).waitFor();
    for (let presses = 0; presses < 150; presses += 1) await page.keyboard.press("ArrowDown");
    await page.getByRole("heading", { name: "for u30" }).waitFor();
    const address = `new URLSearchParams(location.hash.split("?")[1]).get("id")`;
    const id = (await page.locator(".row.active").getAttribute("id"))?.replace("row-", "");
    await expect.poll(() => page.evaluate(address)).toBe(id);
    // A step to go back to has what was shown last, also when it was just reached.
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Escape");
    await page.locator("#delivery-grid:focus").waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "for u29" }).waitFor();
    // And so has one that a link left.
    await page.evaluate(`(() => {
      const grid = document.querySelector("#delivery-grid");
      for (let presses = 0; presses < 3; presses += 1)
        grid.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
      document.querySelector("a.brand").click();
    })()`);
    await page.getByRole("region", { name: "Delivery", exact: true }).waitFor({ state: "detached" });
    await page.goBack();
    await page.getByRole("heading", { name: "for u26" }).waitFor();
  });

  it("has keys that are listed by ? and can be switched off", async () => {
    const { server, track } = await startSetting();
    await track("Ordered");
    const page = await openPage(server.url);
    await page.getByRole("row").filter({ hasText: "Ordered" }).waitFor();
    await page.keyboard.press("?");
    const dialog = page.getByRole("dialog", { name: "Keys" });
    await dialog.getByRole("checkbox").uncheck();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    await page.keyboard.press("p");
    expect(await page.getByRole("button", { name: /^Pause/ }).count()).toBe(1);
    await page.reload();
    await page.getByRole("row").filter({ hasText: "Ordered" }).waitFor();
    await page.keyboard.press("p");
    expect(await page.getByRole("button", { name: /^Pause/ }).count()).toBe(1);
  });

  it("says before the first delivery how to send one, and whether the receiver answers", async () => {
    const { server } = await startSetting({ to: ["http://127.0.0.1:9/webhooks"] });
    const page = await openPage(server.url);
    await page.getByText("127.0.0.1:9/webhooks does not answer").waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Copy" }).count()).toBe(3);
    await page.getByRole("button", { name: "Send a first message" }).click();
    await page.getByRole("heading", { name: "track “Hello” for u1" }).waitFor();
    await expect.poll(() => page.getByRole("row").filter({ hasText: "Hello" }).count()).toBe(1);
  });

  it("survives a restart of the server: it says so, and shows the new truth", async () => {
    const receiver = await startReceiver();
    const options = { to: receiver.url, secret: SECRET } as const;
    const first = await createServer({ ...options, port: 0 });
    const port = Number(new URL(first.url).port);
    await first.sender.track({ userId: "u1", event: "Before" });
    const page = await openPage(first.url, { expected: LOST });
    await page.getByRole("row").filter({ hasText: "Before" }).waitFor();
    await first.close();
    await page.getByText(/Connection lost since/).waitFor();
    const second = await createServer({ ...options, port });
    onTestFinished(() => second.close());
    await second.sender.track({ userId: "u1", event: "After" });
    await page.getByRole("row").filter({ hasText: "After" }).waitFor();
    expect(await page.getByRole("row").filter({ hasText: "Before" }).count()).toBe(0);
    await page.getByText("Live", { exact: true }).waitFor();
  });

  it("of a server that only accepts says so, and why nothing arrives as soon as no process delivers", async () => {
    let context: (() => StoreContext) | undefined;
    const store = changedStore(sqliteStore(), (_, known) => {
      context = known;
      return {};
    });
    const { server } = await startSetting({ store, deliver: false });
    const page = await openPage(server.url);
    const banner = page.getByText("Another process must deliver the calls that it stores.");
    await banner.waitFor();
    expect(await banner.textContent()).not.toContain("No process delivers.");
    context?.().stateChanged({ state: "up", reason: "No process delivers." });
    await banner.filter({ hasText: "No process delivers." }).waitFor();
    context?.().stateChanged({ state: "down", reason: "The disk is away." });
    const alarm = page.getByRole("alert").filter({ hasText: "Store: down" });
    await alarm.filter({ hasText: "The disk is away." }).waitFor();
    expect(await banner.textContent()).not.toContain("The disk is away.");
  });

  it("says on every screen that the store is full, with the reason", async () => {
    const { server, receiver } = await startSetting({ maxBytes: 1_048_576 });
    receiver.mode = "down";
    const page = await openPage(server.url);
    await page.getByText("Live", { exact: true }).waitFor();
    const call = { writeKey: "any", userId: "u1", event: "Large", properties: { text: "x".repeat(30_000) } };
    const send = async (): Promise<number> =>
      (await fetch(`${server.url}/v1/track`, { method: "POST", body: JSON.stringify(call) })).status;
    let status = 200;
    for (let sent = 0; sent < 100 && status === 200; sent += 1) status = await send();
    expect(status).toBe(503);
    const alarm = page.getByRole("alert").filter({ hasText: "Store: full" });
    await alarm.waitFor();
    await page.getByRole("link", { name: "Budget" }).click();
    await alarm.waitFor();
    expect(await alarm.innerText()).toContain("Calls are refused");
    // What is refused is not in the list of what was rejected, and was not accepted.
    await page.getByRole("link", { name: "Rejected & skipped" }).click();
    await page.getByText("None.").first().waitFor();
    expect(await page.getByText(/call.*accepted/).count()).toBe(0);
  });

  it("asks for the token no longer when another tab has given it", async () => {
    const { server } = await startSetting({ token: "s3cret" });
    const page = await openPage(server.url, { expected: /401/ });
    await page.getByLabel("Token").waitFor();
    const other = await page.context().newPage();
    await other.goto(`${server.url}/?token=s3cret`);
    await page.getByText("Live", { exact: true }).waitFor();
    await server.sender.track({ userId: "u1", event: "Ordered" });
    await page.getByRole("row").filter({ hasText: "Ordered" }).waitFor();
    expect(await page.getByLabel("Token").count()).toBe(0);
  });

  it("asks for the token in a form, without JSON, and takes no wrong one", async () => {
    const { server } = await startSetting({ token: "s3cret token" });
    const page = await openPage(server.url, { expected: /401/ });
    const token = page.getByLabel("Token");
    await token.fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("did not accept that token").waitFor();
    await page.waitForURL((url) => !url.search.includes("wrong"));
    await token.fill("s3cret token");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByText("No deliveries yet").waitFor();
    expect(page.url()).not.toContain("s3cret");
    expect(await page.locator("body").innerText()).not.toMatch(/[{}]"status"/);
  });

  it("says that cookies are blocked where it asks for the token, since the right one led back to the same form", async () => {
    const { server } = await startSetting({ token: "s3cret" });
    const page = await openPage(server.url, { expected: /401/ });
    const session = await page.context().newCDPSession(page);
    await session.send("Emulation.setDocumentCookieDisabled", { disabled: true });
    await page.reload();
    const token = page.getByLabel("Token");
    const described = async (): Promise<string> =>
      (await page.locator(`[id="${await token.getAttribute("aria-describedby")}"]`).textContent()) ?? "";
    await token.waitFor();
    expect(await described()).toMatch(/^Cookies are blocked/);
    await session.send("Emulation.setDocumentCookieDisabled", { disabled: false });
    await page.reload();
    await token.waitFor();
    expect(await token.getAttribute("aria-describedby")).toBeNull();
  });

  it("is shown and stays live where the browser keeps tabs apart: in Firefox without cookies, the page was empty", async () => {
    const { server, track } = await startSetting();
    await track("Before");
    const page = await openPage(server.url, {
      init: `globalThis.BroadcastChannel = class { constructor() { throw new DOMException("The operation is insecure.", "SecurityError"); } }`,
    });
    await page.getByRole("row").filter({ hasText: "Before" }).waitFor();
    await track("After");
    await expect.poll(() => page.getByRole("row").filter({ hasText: "After" }).count()).toBe(1);
  });

  it("keeps the space in a search that is typed with a pause", async () => {
    const { server, track } = await startSetting();
    await track("Order Completed");
    await track("Other");
    const page = await openPage(server.url);
    await page.getByRole("searchbox").pressSequentially("Order ");
    await page.waitForURL(/q=Order$/);
    await page.getByText("1 of 2").waitFor();
    await page.keyboard.type("Comp");
    await page.waitForURL(/q=Order\+Comp$/);
    expect(await page.getByRole("searchbox").inputValue()).toBe("Order Comp");
  });

  it("keeps a letter that is typed just when the search before it begins", async () => {
    const { server, track } = await startSetting();
    await track("Ordered");
    const page = await openPage(server.url);
    // In the turn after the address has changed, and before the next frame.
    await page.evaluate(`(() => {
      const { replaceState } = history;
      history.replaceState = (...given) => {
        history.replaceState = replaceState;
        history.replaceState(...given);
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
          const field = document.querySelector("[type=search]");
          field.value += "e";
          field.dispatchEvent(new Event("input", { bubbles: true }));
          setTimeout(() => (globalThis.shown = field.value), 100);
        };
        port2.postMessage(0);
      };
    })()`);
    await page.getByRole("searchbox").pressSequentially("Ord");
    await page.waitForURL(/q=Orde$/);
    expect(await page.evaluate("shown")).toBe("Orde");
  });

  it.each([
    ["since=yesterday", "since yesterday", "The list cannot be read"],
    ["id=", "", "Ordered"],
  ])("a link with %s shows the page", async (query, chip, words) => {
    const { server, track } = await startSetting();
    await track("Ordered");
    const page = await openPage(`${server.url}/#/deliveries?${query}`, { expected: /400/ });
    await page.getByText(words).first().waitFor();
    expect(await page.locator(".chips").allInnerTexts()).toEqual(
      chip === "" ? [] : [expect.stringContaining(chip)],
    );
    expect(await page.getByRole("region", { name: "Delivery", exact: true }).count()).toBe(0);
  });

  it("says in the title how many wait", async () => {
    const { server, track } = await startSetting();
    await track("First");
    const page = await openPage(server.url);
    await page.getByRole("row").filter({ hasText: "First" }).waitFor();
    await page.keyboard.press("p");
    await track("Second", 3);
    await expect.poll(() => page.title()).toBe("Deliveries (3) · Countersign");
    await page.keyboard.press("n");
    await expect.poll(() => page.title()).toBe("Deliveries · Countersign");
  });

  it("says before the first delivery what a server takes that has sources of its own", async () => {
    const endpoints = [{ url: "http://127.0.0.1:9/webhooks" }];
    const sources = [{ name: "shop", destinations: [{ endpoints, secret: SECRET }] }];
    const { server } = await startSetting({ to: undefined, secret: undefined, sources });
    const page = await openPage(server.url);
    const line = page.getByText("curl -d");
    await expect.poll(() => line.innerText()).toContain("shop");
    const [, body = ""] = /-d '([^']*)'/.exec(await line.innerText()) ?? [];
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${server.url}/v1/track`, { method: "POST", headers, body });
    expect(response.status).toBe(200);
    await page.getByRole("row").filter({ hasText: "Hello" }).waitFor();
  });
});
