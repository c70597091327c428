import type { Locator, Page } from "playwright-core";
import { describe, expect, it, vi } from "vitest";
import { missing, settled, useBrowser, why } from "../support/browser.ts";
import {
  DEVICES,
  expectFocus,
  expectNoFault,
  expectOnly,
  openFor,
  type Device,
  type Hand,
} from "../support/hands.ts";
import { startSetting, type Setting } from "../support/setting.ts";

const button = (page: Page, name: RegExp | string): Locator => page.getByRole("button", { name }).first();
const link = (page: Page, name: RegExp | string): Locator => page.getByRole("link", { name }).first();
const main = (page: Page): Locator => page.locator("#main");
const rowsOf = (page: Page, words: string): Locator => page.getByRole("row").filter({ hasText: words });
const clipboard = (page: Page): Promise<string> => page.evaluate("navigator.clipboard.readText()");

/** One part of the page, used once from its beginning to its end while the receiver fails and recovers. */
interface Part {
  readonly name: string;
  /** Errors on the console that belong to it. */
  readonly expected?: RegExp;
  readonly use: (hand: Hand, setting: Setting, device: Device) => Promise<void>;
}

const PARTS: readonly Part[] = [
  {
    name: "deliveries: filtered, paused, held while they are looked at, and current where they stand",
    async use(hand, { receiver, track, api }, device) {
      const { page, press } = hand;
      receiver.mode = "missing";
      await track("Lost");
      receiver.mode = "verifies";
      await track("Kept", 2);
      await rowsOf(page, "Kept").nth(1).waitFor();
      await press(button(page, "Failed"));
      await vi.waitFor(async () => expect(await page.getByRole("row").count()).toBe(2));
      await press(button(page, "All"));
      await rowsOf(page, "Kept").nth(1).waitFor();
      await hand.choose(page.getByLabel("Type"), "identify");
      await page.getByText("0 of 3 deliveries match").waitFor();
      await press(link(page, "Clear the filters"), page.locator(".list-pane"));
      // Read again: what is accepted from here on is new.
      await rowsOf(page, "Kept").nth(1).waitFor();
      await press(button(page, /^(Pause|Resume)/));
      receiver.mode = "down";
      await track("Later");
      const news = button(page, /^1 new/);
      await press(news, page.locator(device === "mouse" ? ".list-pane" : "#delivery-grid"));
      await rowsOf(page, "Later").filter({ hasText: "retrying" }).waitFor();
      await press(button(page, /^(Pause|Resume)/));
      await hand.look();
      receiver.mode = "verifies";
      await track("Meanwhile");
      await button(page, /^1 new/).waitFor();
      await api("POST", "/clock", { advance: "4h" });
      await rowsOf(page, "Later").filter({ hasText: "delivered" }).waitFor();
      expect(await rowsOf(page, "Meanwhile").count()).toBe(0);
    },
  },
  {
    name: "one delivery: resent until it is fixed, resent changed, and taken apart",
    async use(hand, { receiver, track }) {
      const { page, press } = hand;
      receiver.mode = "missing";
      await track("Ordered");
      await hand.open("Ordered");
      const detail = page.getByRole("region", { name: "Delivery", exact: true });
      await press(button(page, /^Resend/));
      await page.getByText("still failing").waitFor();
      receiver.mode = "down";
      await press(button(page, /^Resend/));
      await link(page, "See the resent one").waitFor();
      await page.getByText("on its way").waitFor();
      await press(link(page, "See the resent one"), page.locator(".detail h2"));
      await page.getByText("Waits for its 2nd try").waitFor();
      receiver.mode = "verifies";
      await press(button(page, "Try now"), page.getByRole("group", { name: "Actions for the delivery" }));
      await detail.getByText("The receiver answered 204 at the 2nd try").waitFor();
      await page.getByText("fixed", { exact: true }).waitFor();
      await press(button(page, /^Edit and resend/), page.getByRole("textbox", { name: "Body", exact: true }));
      const body = page.getByRole("textbox", { name: "Body", exact: true });
      await hand.write(body, (await body.inputValue()).replace('"Ordered"', '"Changed"'));
      await press(button(page, "Resend changed"), button(page, /^Edit and resend/));
      await page.getByText("still delivered").waitFor();
      expect(receiver.accepted.at(-1)).toContain("Changed");
      await press(button(page, "Exact"));
      await page.getByLabel("Body, exactly as sent").waitFor();
      await press(button(page, "Bytes"));
      await page.getByLabel("Body, byte by byte").waitFor();
      await press(button(page, "Pretty"));
      await press(button(page, /^1 .*503/));
      await page.getByText("Service unavailable: no database").waitFor();
      await press(page.locator("summary").filter({ hasText: "Check the signature" }));
      await page.getByText("the same", { exact: true }).waitFor();
      await press(button(page, "Copy as curl"));
      await vi.waitFor(async () => expect(await clipboard(page)).toContain("curl"));
      await press(button(page, "Copy as a vitest test"));
      await vi.waitFor(async () => expect(await clipboard(page)).toContain("vitest"));
      await hand.close();
    },
  },
  {
    name: "send: a message is checked, sent, and followed until it is delivered; an audience is synced",
    async use(hand, { receiver, api }) {
      const { page, press } = hand;
      await press(link(page, "Send"), main(page));
      const form = page.getByRole("form", { name: "Send a message" });
      await hand.write(form.getByLabel(/^Event/), "");
      await form.getByText("You must pass 'event'.").waitFor();
      await hand.write(form.getByLabel(/^Event/), "Ordered");
      await form.getByText("Valid").waitFor();
      receiver.mode = "down";
      await press(form.getByRole("button", { name: "Send", exact: true }));
      await form.getByText("retrying").waitFor();
      receiver.mode = "verifies";
      await api("POST", "/clock", { advance: "4h" });
      await form.getByText("delivered").waitFor();
      await press(form.getByRole("button", { name: "delete", exact: true }));
      await form.getByText("Valid").waitFor();
      await press(form.getByRole("button", { name: "Delete the user" }));
      await vi.waitFor(() => expect(receiver.accepted.at(-1)).toContain('"type":"delete"'));
      await press(form.getByRole("button", { name: "Raw JSON" }));
      await hand.write(form.getByLabel(/^The call/), '{"type":"page","userId":"u9","name":"Raw"}');
      await form.getByText("Valid").waitFor();
      await press(form.getByRole("button", { name: "Send", exact: true }));
      await vi.waitFor(() => expect(receiver.accepted.at(-1)).toContain("Raw"));
      const audience = page.getByRole("form", { name: "Sync an audience" });
      await hand.write(audience.getByLabel(/^Name/), "vips");
      await hand.write(audience.getByLabel(/^User ids/), "u1,u2");
      await press(audience.getByRole("button", { name: "Sync" }));
      await audience.getByText("2 joined or changed, 0 left.").waitFor();
    },
  },
  {
    name: "settings: five steps, an error beside its field, a second endpoint that takes over, and the config file",
    expected: /422/,
    async use(hand, { server, receiver, track, api }) {
      const { page, press } = hand;
      await press(link(page, "Settings"), main(page));
      await press(link(page, "Add a source"));
      await hand.write(page.getByLabel(/^Name of the source/), "shop");
      const url = page.getByLabel(/^URL/);
      await hand.write(url, "ftp://nowhere");
      await hand.write(page.getByLabel("Secret", { exact: true }), "a shared secret");
      await press(button(page, "Save"), url);
      expect(await url.getAttribute("aria-invalid")).toBe("true");
      await hand.write(url, "http://127.0.0.1:9/nobody");
      await press(button(page, "Add an endpoint"));
      await hand.write(url.nth(1), receiver.url);
      await press(button(page, "Add a header"));
      await hand.write(page.getByLabel(/^Header/), "X-Shop");
      await hand.write(page.getByLabel(/^Value/), "1");
      await press(button(page, "Save"));
      await page.getByRole("status").filter({ hasText: "Saved." }).first().waitFor();
      await server.sender.track({ userId: "u1", event: "Shopped" }, { source: "shop" });
      await api("POST", "/clock", { advance: "10m" });
      await vi.waitFor(() => expect(receiver.accepted.some((body) => body.includes("Shopped"))).toBe(true));
      await press(page.getByLabel("Deliver to this destination"));
      await press(button(page, "Save"));
      await page.getByText("disabled").waitFor();
      // Until the form knows that it is saved, another button does nothing; then it takes the focus.
      await settled(page);
      await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))");
      const download = page.waitForEvent("download");
      await press(link(page, /countersign.config.ts/));
      expect((await download).suggestedFilename()).toBe("countersign.config.ts");
      await press(button(page, "Remove the destination"), main(page));
      await track("Others");
      expect(server.sender.settings.sources.find(({ name }) => name === "shop")?.destinations).toEqual([]);
      const shop = page.getByRole("region", { name: "Source shop" });
      await press(shop.getByRole("button", { name: "Remove the source" }), main(page));
      await shop.waitFor({ state: "detached" });
      expect(server.sender.settings.sources.map(({ name }) => name)).toEqual(["default"]);
    },
  },
  {
    name: "faults and time: a refused forgery is green, an accepted one the loudest, and four hours are a button",
    async use(hand, { receiver, track }) {
      const { page, press } = hand;
      await press(link(page, "Faults & time"), main(page));
      await press(button(page, "Wrong signature"));
      await page.getByText("1 more").waitFor();
      await track("Forged");
      await page.getByText("rejected: 401, as it should be").waitFor();
      await expectNoFault(page);
      receiver.mode = "gullible";
      await press(button(page, "No signature"));
      await page.getByText("1 more").waitFor();
      await track("Forged again");
      const alarm = page.getByRole("alert").filter({ hasText: "Accepted a forgery" });
      await alarm.waitFor();
      await expectFocus(button(page, "No signature"));
      await expectNoFault(page);
      receiver.mode = "verifies";
      await press(button(page, "No signature"));
      await page.getByText("1 more").waitFor();
      await track("Forged a third time");
      await alarm.waitFor({ state: "detached" });
      await expectNoFault(page);
      await hand.choose(page.getByLabel("How often"), "until cancelled");
      await press(button(page, "503"));
      const lasting = page.getByRole("region", { name: "Active faults" }).getByText("until cancelled");
      await lasting.waitFor();
      await track("Ordered");
      await page.getByText(/The next retry is in/).waitFor();
      await press(button(page, "To the next retry"));
      await vi.waitFor(async () => expect(await page.getByText(/^503/).count()).toBeGreaterThan(0));
      await press(button(page, /^Cancel/), page.getByRole("region", { name: "Active faults" }));
      await lasting.waitFor({ state: "detached" });
      // While the time is advanced, another button does nothing.
      await settled(page);
      await press(button(page, "+ 4 h"));
      await page.getByText("Nothing waits for a retry.").waitFor();
      expect(receiver.accepted.some((body) => body.includes('"Ordered"'))).toBe(true);
    },
  },
  {
    name: "the budget: a bar leads to its deliveries",
    async use(hand, { receiver, track, api }) {
      const { page, press } = hand;
      receiver.mode = "down";
      await track("Ordered", 3);
      receiver.mode = "verifies";
      await api("POST", "/clock", { advance: "4h" });
      await press(link(page, "Budget"), main(page));
      await page.getByText("limit 5 s").waitFor();
      await press(link(page, /: [1-6] attempts?$/), main(page));
      await page.getByText(/answered by/).waitFor();
      await rowsOf(page, "Ordered").first().waitFor();
    },
  },
  {
    name: "rejected and skipped: the call as it came, and the way to correct it",
    async use(hand, { server, receiver, track }) {
      const { page, press } = hand;
      await press(link(page, "Rejected & skipped"), main(page));
      const body = JSON.stringify({ writeKey: "any", userId: "u1", properties: { plan: "gold" } });
      await fetch(`${server.url}/v1/track`, { method: "POST", body });
      await page.getByText("Pass the name of the event.").waitFor();
      await press(page.locator("summary").filter({ hasText: "The call as received" }));
      await page.getByText('"gold"').waitFor();
      await expectFocus(page.locator("summary").first());
      receiver.mode = "missing";
      await track("Named");
      receiver.mode = "verifies";
      await track("Named");
      expect(receiver.accepted).toHaveLength(1);
      await press(link(page, "Deliveries"), main(page));
      await rowsOf(page, "Named").nth(1).waitFor();
    },
  },
  {
    name: "certify: a failed audit opens, and passes once the receiver is corrected",
    async use(hand, { receiver }) {
      const { page, press } = hand;
      await press(link(page, "Certify"), main(page));
      const audit = page.getByRole("listitem").filter({ hasText: "Rejects a made-up signature" });
      receiver.mode = "gullible";
      await press(button(page, "Certify"), button(page, /^(Certify|Stop)$/));
      await page.getByText("not certified").waitFor({ timeout: 60_000 });
      await press(audit.filter({ hasText: "failed" }).locator("summary"));
      await audit.getByText("received", { exact: true }).waitFor();
      receiver.mode = "verifies";
      await press(button(page, "Certify"), button(page, /^(Certify|Stop)$/));
      await audit.filter({ hasText: "passed" }).waitFor({ timeout: 60_000 });
    },
  },
  {
    name: "recover: what waits is tried now",
    async use(hand, { receiver, track }) {
      const { page, press } = hand;
      receiver.mode = "down";
      await track("Ordered", 3);
      await press(link(page, /^Recover$/), main(page));
      const tryAll = button(page, "Try now: 3 waiting");
      await tryAll.waitFor();
      receiver.mode = "verifies";
      await press(tryAll);
      await button(page, "Try now: 0 waiting").waitFor();
      expect(receiver.accepted).toHaveLength(3);
    },
  },
  {
    name: "recover: what failed is resent by reason, then all of it",
    async use(hand, { receiver, track }) {
      const { page, press } = hand;
      receiver.mode = "missing";
      await track("Ordered", 12);
      receiver.mode = { status: 422, body: "no" };
      await track("Other", 3);
      await press(link(page, /^Recover$/), main(page));
      await page.getByRole("main").getByText("15 deliveries failed").waitFor();
      receiver.mode = "verifies";
      await press(button(page, /^Resend these.*422/));
      await page.getByText("3 of 3 resent").waitFor();
      // That can be told before the server has answered the button, and until it has another one does nothing.
      await settled(page);
      await press(button(page, "Resend all"));
      // Those that were resent before have arrived.
      await page.getByText("12 of 12 resent").waitFor();
      await vi.waitFor(() => expect(new Set(receiver.accepted).size).toBe(15));
      expect(receiver.accepted).toHaveLength(15);
      await press(link(page, "See them arrive"), main(page));
      await rowsOf(page, "Ordered").filter({ hasText: "delivered" }).first().waitFor();
    },
  },
];

useBrowser();

describe.skipIf(missing).each(DEVICES)(`by %s alone${why}`, (device) => {
  it.each(PARTS)("$name", { timeout: 120_000 }, async ({ use, expected }) => {
    const setting = await startSetting();
    const hand = await openFor(device, setting.server.url, expected);
    await hand.page.getByText("Live", { exact: true }).waitFor();
    await use(hand, setting, device);
    await expectOnly(device, hand.page);
  });
});
