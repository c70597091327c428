import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { missing, openPage, settled, useBrowser, why } from "../support/browser.ts";
import { expectNoFault } from "../support/hands.ts";
import { layLink } from "../support/link.ts";
import { SECRET, startReceiver, startSetting } from "../support/setting.ts";

useBrowser();

describe.skipIf(missing)(`send${why}`, () => {
  it("takes all seven types, checked while they are typed", async () => {
    const { server, receiver, api } = await startSetting();
    const page = await openPage(`${server.url}/#/send`);
    const form = page.getByRole("form", { name: "Send a message" });
    await form.getByLabel(/^Event/).fill("");
    await form.getByText("You must pass 'event'.").waitFor();
    expect(await form.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
    await form.getByLabel(/^Event/).fill("Ordered");
    await form.getByLabel(/^Properties/).fill("{");
    await form.getByText("This is not JSON.").waitFor();
    await form.getByLabel(/^Properties/).fill('{"a":{"b":1}}');
    await form.getByText("Valid").waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await form.getByText("delivered").waitFor();
    expect(receiver.accepted[0]).toContain('"a":{"b":1}');
    const fields: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      identify: {},
      page: { Name: "Home" },
      screen: { Name: "Main" },
      group: { "Group id": "g1" },
      alias: { "New user id": "u2", "Previous id": "u1" },
      delete: { "User id": "u2" },
    };
    for (const [type, values] of Object.entries(fields)) {
      await form.getByRole("button", { name: type, exact: true }).click();
      if (type !== "delete" && type !== "alias") await form.getByLabel(/^(Properties|Traits)/).fill("");
      for (const [label, value] of Object.entries(values))
        await form.getByLabel(new RegExp(`^${label}`)).fill(value);
      await form.getByText("Valid").waitFor();
      await form
        .getByRole("button", { name: type === "delete" ? "Delete the user" : "Send", exact: true })
        .click();
      await vi.waitFor(() => expect(receiver.accepted.at(-1)).toContain(`"type":"${type}"`));
    }
    await form.getByRole("button", { name: "Raw JSON" }).click();
    await form.getByLabel(/^The call/).fill('{"type":"track","userId":"u9","event":"Raw"}');
    await form.getByText("Valid").waitFor();
    await form.getByRole("button", { name: "Send" }).click();
    await vi.waitFor(() => expect(receiver.accepted.at(-1)).toContain("Raw"));
    expect(await api("GET", "/deliveries/count")).toMatchObject({ count: 8 });
  });

  it("says that an integer would lose digits, in the form and as raw JSON, in place of sending another one", async () => {
    const { server, receiver } = await startSetting();
    const page = await openPage(`${server.url}/#/send`, { expected: /400/ });
    const form = page.getByRole("form", { name: "Send a message" });
    await form.getByLabel(/^Properties/).fill('{ "order": 9007199254740993 }');
    await expect
      .poll(() => form.innerText())
      .toContain("9007199254740993 is a number that JavaScript does not keep");
    await form.getByRole("button", { name: "Raw JSON" }).click();
    await expect.poll(() => form.getByLabel(/^The call/).inputValue()).toContain("9007199254740993");
    await expect
      .poll(() => form.innerText())
      .toContain("9007199254740993 is a number that JavaScript does not keep");
    expect(await form.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
    expect(receiver.accepted).toEqual([]);
  });

  it("syncs an audience: those who joined, then those who left", async () => {
    const { server, receiver } = await startSetting();
    const page = await openPage(`${server.url}/#/send`);
    const form = page.getByRole("form", { name: "Sync an audience" });
    await form.getByLabel(/^Name/).fill("vips");
    await form.getByLabel(/^User ids/).fill("u1\nu2");
    await form.getByRole("button", { name: "Sync" }).click();
    await form.getByText("2 joined or changed, 0 left.").waitFor();
    await form.getByLabel(/^User ids/).fill("u2");
    await form.getByLabel(/^User ids/).press("Tab");
    await page.keyboard.press("Enter");
    await form.getByText("0 joined or changed, 1 left.").waitFor();
    await vi.waitFor(() => expect(receiver.accepted).toHaveLength(3));
  });

  it("says why a sync of an audience sent nothing", async () => {
    const { server, api } = await startSetting();
    await api("PUT", "/sources/default/destinations/webhooks", {
      endpoints: [{ url: "http://127.0.0.1:9/" }],
      enabled: false,
    });
    const page = await openPage(`${server.url}/#/send`);
    const form = page.getByRole("form", { name: "Sync an audience" });
    await form.getByLabel(/^Name/).fill("vips");
    await form.getByLabel(/^User ids/).fill("u1");
    await form.getByRole("button", { name: "Sync" }).click();
    await vi.waitFor(async () =>
      expect(await form.getByRole("status").textContent()).toBe("Nothing was sent: no destination."),
    );
  });
});

describe.skipIf(missing)(`faults and time${why}`, () => {
  it("show a refused forgery in green, and one that was accepted on every screen, until it is refused", async () => {
    const { server, receiver, track, api } = await startSetting();
    const page = await openPage(`${server.url}/#/faults`);
    await page.getByRole("button", { name: "Wrong signature" }).click();
    await page.getByText("1 more").waitFor();
    await track("Forged");
    const shown = page.getByRole("region", { name: "Results of the last faults" });
    await shown.getByText("rejected: 401, as it should be").waitFor();
    expect(await page.getByText("Accepted a forgery").count()).toBe(0);
    await expectNoFault(page);
    receiver.mode = "gullible";
    await page.getByRole("button", { name: "No signature" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("1 more").waitFor();
    await track("Forged again");
    const alarm = page.getByRole("alert").filter({ hasText: "Accepted a forgery" });
    await alarm.waitFor();
    expect(await alarm.evaluate((node) => node.getBoundingClientRect().height)).toBeGreaterThan(50);
    await page.getByRole("link", { name: "Budget" }).click();
    await alarm.waitFor();
    await page.reload();
    await alarm.getByRole("link", { name: "See it" }).click();
    await page
      .getByRole("region", { name: "Delivery", exact: true })
      .getByText(/ACCEPTED A FORGERY/)
      .first()
      .waitFor();
    receiver.mode = "verifies";
    await page.getByRole("link", { name: "Faults & time" }).click();
    await expectNoFault(page);
    await page.getByRole("button", { name: "No signature" }).click();
    await page.getByText("1 more").waitFor();
    await track("Forged a third time");
    await alarm.waitFor({ state: "detached" });
    // What audits find stands there, too, when their screen is no longer open.
    receiver.mode = "gullible";
    await api("POST", "/certify", { destination: "default/webhooks", only: ["rejects-tampered-body"] });
    await alarm.getByText(/To prove a correction, certify it\.$/).waitFor();
    expect(await alarm.getByRole("link", { name: "See it" }).count()).toBe(0);
  });

  it("show an accepted forgery whatever the list shows, and say how to prove that it is corrected", async () => {
    const { server, receiver, track, api } = await startSetting();
    receiver.mode = "gullible";
    await api("POST", "/faults", { fault: "bad_signature", times: 1 });
    await track("Forged");
    receiver.mode = "verifies";
    await track("Later", 300);
    await api("PUT", "/sources/default/destinations/other", {
      endpoints: [{ url: `${receiver.url}/other` }],
    });
    const page = await openPage(`${server.url}/#/deliveries?state=failed`);
    const alarm = page.getByRole("alert").filter({ hasText: "Accepted a forgery" });
    await alarm.getByText(/answered 204 to a forged message \(bad signature\)/).waitFor();
    await alarm.getByText(/certify it, or resend this with the same fault/).waitFor();
    await alarm.getByRole("link", { name: "Certify it" }).click();
    const receivers = page.getByRole("main").getByRole("combobox", { name: "Receiver" });
    await expect.poll(() => receivers.inputValue()).toBe(`${receiver.url} (default/webhooks)`);
    await receivers.selectOption({ index: 1 });
    await expect.poll(() => receivers.inputValue()).toBe(`${receiver.url}/other (default/other)`);
    await page.goBack();
    // Another tab, or a program, has seen that it is corrected.
    await api("POST", "/faults", { fault: "bad_signature", times: 1 });
    await track("Forged");
    await alarm.waitFor({ state: "detached" });
  });

  it("blame no receiver for a forgery where there is no secret, neither in the results nor where it is sent", async () => {
    const { server, receiver, api } = await startSetting();
    receiver.mode = "gullible";
    const endpoints = [{ url: receiver.url }];
    await api("PUT", "/sources/default/destinations/webhooks", { endpoints, secret: null });
    await api("POST", "/faults", { fault: "bad_signature", times: 1 });
    const page = await openPage(`${server.url}/#/send`);
    const form = page.getByRole("form", { name: "Send a message" });
    await form.getByText("Valid").waitFor();
    await form.getByRole("button", { name: "Send", exact: true }).click();
    await form.getByText("delivered", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Faults & time" }).click();
    const results = page.getByRole("region", { name: "Results of the last faults" });
    await results.getByText("204").waitFor();
    expect(await results.innerText()).not.toContain("ACCEPTED");
  });

  it("advance the time to the next retry, and by four hours, and cancel a fault", async () => {
    const { server, receiver, track } = await startSetting();
    const page = await openPage(`${server.url}/#/faults`);
    await page.getByText("Nothing waits for a retry.").waitFor();
    await page.getByLabel("How often").selectOption("unlimited");
    await page.getByRole("button", { name: "503" }).click();
    await page.getByText("until cancelled", { exact: true }).last().waitFor();
    await track("Ordered");
    expect(receiver.requests).toBe(0);
    await page.getByText(/The next retry is in/).waitFor();
    await page.getByRole("button", { name: "To the next retry" }).click();
    await page.getByRole("link", { name: "Deliveries", exact: true }).click();
    await page.getByRole("row").filter({ hasText: "Ordered" }).filter({ hasText: "retrying" }).waitFor();
    await page.getByRole("link", { name: "Faults & time" }).click();
    await page.getByRole("button", { name: /^Cancel/ }).click();
    await page.getByText("None. Attempts are sent as they are.").waitFor();
    await page.getByRole("button", { name: "+ 4 h" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("Nothing waits for a retry.").waitFor();
    expect(receiver.accepted).toHaveLength(1);
  });

  it("show to everyone that the time is being advanced and to when, after a reload too, until it is there", async () => {
    const { server, receiver, track, api } = await startSetting();
    const link = await layLink(receiver.url);
    const endpoints = [{ url: `${link.url}/webhooks` }];
    await api("PUT", "/sources/default/destinations/webhooks", { endpoints, secret: SECRET });
    receiver.mode = "down";
    await track("Ordered");
    receiver.mode = "verifies";
    const first = await openPage(`${server.url}/#/faults`);
    const second = await openPage(`${server.url}/#/faults`);
    for (const page of [first, second]) await page.getByText(/^The next retry is in/).waitFor();
    link.freeze();
    await first.getByRole("button", { name: "+ 1 h" }).click();
    const advancing = /^Advancing to 1 Jan 01:00:00\.000…$/;
    await second.getByText(advancing).waitFor();
    await first.getByText(advancing).waitFor();
    await second.reload();
    await second.getByText(advancing).waitFor();
    link.mend();
    for (const page of [second, first]) {
      await page.getByText("Nothing waits for a retry.").waitFor();
      await page.getByText("1 Jan 01:00:00.000", { exact: true }).waitFor();
      expect(await page.getByText(advancing).count()).toBe(0);
    }
  });
});

describe.skipIf(missing)(`settings${why}`, () => {
  it("lead through five steps, say what is wrong beside the field, and outlast a restart with data", async () => {
    const other = await startReceiver();
    const data = mkdtempSync(join(tmpdir(), "countersign-dashboard-"));
    onTestFinished(() => rmSync(data, { recursive: true, force: true }));
    const { server } = await startSetting({ data });
    const page = await openPage(`${server.url}/#/settings`, { expected: /422/ });
    await page.getByRole("link", { name: "Add a source" }).click();
    await page.getByLabel(/^Name of the source/).fill("shop");
    await page.getByLabel(/^URL/).fill("ftp://nowhere");
    await page.getByLabel("Secret", { exact: true }).fill("another secret");
    await page.getByRole("button", { name: "Save" }).click();
    const url = page.getByLabel(/^URL/);
    await vi.waitFor(async () => expect(await url.getAttribute("aria-invalid")).toBe("true"));
    await url.fill(other.url);
    await page.getByRole("button", { name: "Add a header" }).click();
    await page.getByLabel(/^Header/).fill("Authorization");
    await page.getByLabel(/^Value/).fill("Bearer canary");
    await page.getByRole("button", { name: "Add an endpoint" }).click();
    await url.nth(1).fill(`${other.url}/second`);
    await url.nth(1).press("Enter");
    await page.getByText("Saved.", { exact: false }).first().waitFor();
    await page.reload();
    await page.getByText("Set, and not shown.").waitFor();
    const text = await page.locator("body").innerText();
    expect(text).not.toContain("canary");
    expect(await page.getByLabel(/^Value/).inputValue()).toBe("(hidden)");
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: /countersign.config.ts/ }).click();
    const file = await download;
    expect(file.suggestedFilename()).toBe("countersign.config.ts");
    expect(readFileSync(await file.path(), "utf8")).toContain("secret: process.env.SHOP_WEBHOOKS_SECRET");
    // Who disables it during an outage must know that no call is kept for it meanwhile.
    await page.getByText("new calls are never sent").waitFor();
    await page.getByRole("checkbox", { name: "Deliver to this destination" }).uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("disabled").waitFor();
    const shop = server.sender.settings.sources.find(({ name }) => name === "shop");
    expect(shop?.destinations[0]).toMatchObject({ enabled: false, secret: "another secret" });
    expect(shop?.destinations[0]?.endpoints[0]?.headers).toEqual({ Authorization: "Bearer canary" });
  });

  it("say that a destination is removed, to a screen reader too", async () => {
    const { server } = await startSetting();
    const page = await openPage(`${server.url}/#/settings?source=default&destination=webhooks`);
    await page.getByRole("button", { name: "Remove the destination" }).click();
    await page.getByRole("status").filter({ hasText: "Removed." }).waitFor();
    expect(server.sender.settings.sources[0]?.destinations).toEqual([]);
  });

  it("say that a destination or a source which the address names is not there, and show the form when it is", async () => {
    const { server, receiver, api } = await startSetting();
    const page = await openPage(`${server.url}/#/settings?source=default&destination=gone`, { width: 375 });
    const said = page.getByRole("alert");
    await said.getByText('There is no destination "default/gone".').waitFor();
    // On a telephone the list is long: it says so above it.
    expect((await said.boundingBox())?.y).toBeLessThan(
      (await page.getByRole("region", { name: "Source default" }).boundingBox())?.y ?? 0,
    );
    expect(await page.getByRole("form").count()).toBe(0);
    await api("PUT", "/sources/default/destinations/gone", { endpoints: [{ url: receiver.url }] });
    await page.getByRole("form").waitFor();
    expect(await said.count()).toBe(0);
    // Back to what was removed here: no form that would add it.
    await page.getByRole("button", { name: "Remove the destination" }).click();
    await page.getByRole("form").waitFor({ state: "detached" });
    expect(await said.count()).toBe(0);
    await page.goBack();
    await said.getByText('There is no destination "default/gone".').waitFor();
    expect(await page.getByRole("form").count()).toBe(0);
    await page.goto(`${server.url}/#/settings?source=other&new=destination`);
    await said.getByText('There is no source "other".').waitFor();
    expect(await page.getByRole("form").count()).toBe(0);
  });

  it("tell the second of two tabs that the first has changed them, and lose nothing of either", async () => {
    const { server, receiver } = await startSetting();
    const address = `${server.url}/#/settings?source=default&destination=webhooks`;
    const [first, second] = [await openPage(address), await openPage(address, { expected: /412/ })];
    const field = (page: typeof first) => page.getByLabel(/^URL/);
    await field(first).waitFor();
    await field(second).fill(`${receiver.url}?second`);
    await field(first).fill(`${receiver.url}?first`);
    await first.getByRole("button", { name: "Save" }).click();
    await first.getByText("Saved.", { exact: false }).first().waitFor();
    await second.getByRole("button", { name: "Save" }).click();
    await second.getByText("Changed meanwhile").waitFor();
    const url = (): string | undefined =>
      server.sender.settings.sources[0]?.destinations[0]?.endpoints[0]?.url;
    expect(url()).toContain("first");
    expect(await field(second).inputValue()).toContain("second");
    await second.getByRole("button", { name: "Keep mine" }).click();
    // Until that is done, another button does nothing.
    await second.getByText("Changed meanwhile").waitFor({ state: "detached" });
    await second.getByRole("button", { name: "Save" }).click();
    await expect.poll(url).toContain("second");
  });

  it("keep what is typed while they are saved, and when somebody else removes what is edited", async () => {
    const { server, receiver, api } = await startSetting();
    const page = await openPage(`${server.url}/#/settings?source=default&destination=webhooks`, {
      expected: /412/,
    });
    const url = page.getByLabel(/^URL/);
    let answer = (): void => {};
    const isAnswered = new Promise<void>((resolve) => (answer = resolve));
    await page.route("**/destinations/webhooks", async (route) => {
      const response = await route.fetch();
      await isAnswered;
      await route.fulfill({ response });
    });
    await url.fill(`${receiver.url}?saved`);
    const asked = page.waitForRequest("**/destinations/webhooks");
    await page.getByRole("button", { name: "Save" }).click();
    await asked;
    await url.fill(`${receiver.url}?typed`);
    answer();
    await page.getByText("Saved.", { exact: false }).first().waitFor();
    expect(await url.inputValue()).toContain("typed");
    await page.unroute("**/destinations/webhooks");
    await api("DELETE", "/sources/default/destinations/webhooks");
    await page.getByRole("link", { name: "webhooks" }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Changed meanwhile").waitFor();
    await page.getByRole("button", { name: "Keep mine" }).click();
    await page.getByText("Changed meanwhile").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Save" }).click();
    await expect
      .poll(() => server.sender.settings.sources[0]?.destinations[0]?.endpoints[0]?.url)
      .toContain("typed");
  });

  it.each(["Add a destination", "Add a source"])(
    "“%s” replaces nothing that has the name already",
    async (link) => {
      const { server } = await startSetting();
      const before = JSON.stringify(server.sender.settings);
      const page = await openPage(`${server.url}/#/settings`);
      await page.getByRole("link", { name: link }).click();
      const isSource = link === "Add a source";
      await page
        .getByLabel(/^Name/)
        .first()
        .fill(isSource ? "default " : " webhooks");
      await page.getByLabel(/^URL/).fill("http://127.0.0.1:9/other");
      await page.getByLabel("Secret", { exact: true }).fill("another secret");
      await page.getByRole("button", { name: "Save" }).click();
      await page
        .getByText("This name is taken. Choose another, or change what has it, in the list.")
        .waitFor();
      expect(await page.locator("[aria-invalid=true]:focus").inputValue()).toBe(
        isSource ? "default " : " webhooks",
      );
      expect(JSON.stringify(server.sender.settings)).toBe(before);
      await page.getByLabel(/^Name/).first().fill(" second ");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Saved.", { exact: false }).first().waitFor();
      await page.getByText("Set, and not shown.").waitFor();
      expect(JSON.stringify(server.sender.settings)).toContain('"second"');
    },
  );
});

describe.skipIf(missing)(`the other screens${why}`, () => {
  it("budget: a bar of the histogram leads to its deliveries, not to those of another destination too", async () => {
    const { server, receiver, track, api } = await startSetting();
    await api("PUT", "/sources/default/destinations/other", { endpoints: [{ url: receiver.url }] });
    await track("Ordered", 5);
    // The bars do not grow any more.
    await server.sender.idle();
    const page = await openPage(`${server.url}/#/budget`);
    await page.getByText("limit 5 s").first().waitFor();
    const bar = page.getByRole("link", { name: /: [1-5] attempts?$/ }).first();
    const number = Number(/: (\d+)/.exec((await bar.getAttribute("aria-label")) ?? "")?.[1]);
    await bar.focus();
    await page.keyboard.press("Enter");
    const rows = page.getByRole("row").filter({ hasText: "Ordered" });
    await vi.waitFor(async () => expect(await rows.count()).toBe(number));
    expect(page.url()).toContain("over=");
  });

  it("header: has the virtual time within ten seconds when code in the server's process advances it, also while an endpoint fails", async () => {
    const { server, clock, receiver, track } = await startSetting();
    receiver.mode = "down";
    await track("Ordered", 6);
    const page = await openPage(server.url, { clock: true });
    await page.getByText(/^Failing since/).waitFor();
    const time = page.getByRole("link", { name: /^Virtual time/ });
    const hour = async (): Promise<number> => Number(/(\d+):\d+/.exec(await time.innerText())?.[1]);
    const before = await hour();
    await clock.advance("3h");
    await page.clock.fastForward(10_000);
    await vi.waitFor(async () => expect(((await hour()) - before + 24) % 24).toBe(3));
  });

  it("budget: says that a bar of attempts and its list of deliveries can differ, and the list says what it filters by", async () => {
    const { server, receiver, track, api } = await startSetting();
    receiver.mode = "down";
    await track("Ordered");
    await api("POST", "/clock", { advance: "2m" });
    const page = await openPage(`${server.url}/#/budget`);
    await page.getByText("so the numbers can differ").waitFor();
    const bars = page.getByRole("link", { name: /: [1-9]\d* attempts?$/ });
    // Several attempts, of one delivery.
    const attempts = async (): Promise<number> =>
      (await bars.evaluateAll((all) => all.map((bar) => bar.getAttribute("aria-label"))))
        .map((name) => Number(/: (\d+)/.exec(name ?? "")?.[1]))
        .reduce((sum, number) => sum + number, 0);
    await expect.poll(attempts).toBeGreaterThan(1);
    await bars.first().focus();
    await page.keyboard.press("Enter");
    await page
      .locator(".chips")
      .getByText(/^last attempt up to /)
      .waitFor();
  });

  it("rejected and skipped: what arrived and went nowhere, and how to correct it, live", async () => {
    const { server } = await startSetting();
    const page = await openPage(`${server.url}/#/rejected`);
    await page.getByText("None.").first().waitFor();
    const evil = '<img src=x onerror="globalThis.hacked=1">';
    const post = (body: object): Promise<Response> =>
      fetch(`${server.url}/v1/track`, {
        method: "POST",
        body: JSON.stringify({ writeKey: "any", userId: "u", ...body }),
      });
    await post({ properties: { evil } });
    await page.getByText("Pass the name of the event.").waitFor();
    await page.getByText("The call as received").click();
    await page.getByText("onerror").waitFor();
    await post({ event: "Off", integrations: { All: false } });
    await page
      .getByRole("region", { name: /^Skipped/ })
      .getByRole("strong")
      .getByText("integrations", { exact: true })
      .waitFor();
    expect(await page.evaluate("globalThis.hacked")).toBeUndefined();
  });

  it(
    "certify: a receiver that takes forgeries is not certified, and each failed audit opens",
    { timeout: 120_000 },
    async () => {
      const { server, receiver } = await startSetting();
      receiver.mode = "gullible";
      const page = await openPage(`${server.url}/#/certify`);
      await page.getByRole("button", { name: "Certify" }).click();
      await page.getByText("not certified").waitFor({ timeout: 60_000 });
      const failed = page.getByRole("listitem").filter({ hasText: "failed" }).first();
      await failed.locator("summary").focus();
      await page.keyboard.press("Enter");
      await failed.getByText("received", { exact: true }).waitFor();
      expect(await failed.locator("pre").count()).toBe(3);
    },
  );

  it("all say which endpoint fails, since when, and when it answers again", async () => {
    const { server, receiver, track, api } = await startSetting();
    await track("Ordered", 2);
    receiver.mode = "down";
    await track("Ordered", 6);
    const page = await openPage(`${server.url}/#/recover`);
    const banner = page.getByRole("alert").filter({ hasText: "Failing since 00:00:00" });
    // The last answer, what waits, and when the first of that expires.
    await banner
      .getByText(
        /^127\.0\.0\.1:\d+\/webhooks \(default\/webhooks\): 503\. 6 deliveries waiting, the first expires at 04:00:00$/,
      )
      .waitFor();
    await banner.getByRole("link", { name: "Recover them" }).click();
    const chosen = page.getByRole("main").getByRole("combobox", { name: "Destination" });
    await expect.poll(() => chosen.inputValue()).toBe("default/webhooks");
    await page.getByRole("button", { name: "Try now: 6 waiting" }).waitFor();
    await banner.getByRole("link", { name: "See what is left" }).click();
    await page.getByText(/^6 of 8/).waitFor();
    receiver.mode = "verifies";
    await api("POST", "/clock", { advance: "10m" });
    // Those who see are told, too.
    const told = page.locator(".notice").filter({ hasText: "/webhooks answers again." });
    // It is shown for five seconds.
    expect((await told.boundingBox())?.width).toBeGreaterThan(100);
    await expect.poll(() => banner.count()).toBe(0);
    receiver.mode = "down";
    await track("Ordered", 6);
    await banner
      .or(page.getByText(/^Failing since 00:10/))
      .first()
      .waitFor();
    await api("DELETE", "/sources/default/destinations/webhooks");
    await expect.poll(() => page.getByText("Failing since").count()).toBe(0);
  });

  it("all say how many deliveries are lost while an endpoint rejects them, and those that expire", async () => {
    const { server, receiver, track, api } = await startSetting();
    await track("Arrived");
    receiver.mode = "missing";
    await track("Refused", 6);
    const page = await openPage(`${server.url}/#/budget`);
    const banner = page.getByRole("alert");
    await banner.getByText(/: 404\. 6 deliveries failed or expired$/).waitFor();
    receiver.mode = "down";
    await track("Ordered", 2);
    await page.reload();
    await banner
      .getByText(/: 503\. 2 deliveries waiting, .* at 04:00:00\. 6 deliveries failed or expired$/)
      .waitFor();
    await api("POST", "/clock", { advance: "5h" });
    await page.reload();
    await banner.getByText(/: 503\. 8 deliveries failed or expired$/).waitFor();
    // As many as the list has to which it leads.
    await banner.getByRole("link", { name: "See what is left" }).click();
    await page.getByText(/^8 of 9/).waitFor();
    expect(
      await page
        .getByRole("row")
        .filter({ hasText: /failed|expired/ })
        .count(),
    ).toBe(8);
  });

  it("all say in one banner that several endpoints fail, which opens to each of them", async () => {
    const { server, receiver, track, api } = await startSetting();
    receiver.mode = "down";
    for (const name of ["a", "b", "c", "d"])
      await api("PUT", `/sources/default/destinations/${name}`, {
        endpoints: [{ url: `${receiver.url}/${name}` }],
      });
    await track("Ordered", 6);
    const page = await openPage(`${server.url}/#/deliveries`);
    await page.getByText("5 endpoints are failing").click();
    expect(await page.locator(".banner").count()).toBe(1);
    const each = page.locator(".banner li");
    await each.nth(4).waitFor();
    expect(await each.first().innerText()).toMatch(
      /^Failing since 00:00:00\s+127\.0\.0\.1:\d+\/webhooks \(default\/webhooks\): 503\. 6 deliveries waiting, the first expires at 04:00:00\s+See what is left\s+Recover them$/,
    );
    // In a narrow window each takes several lines: they are as far apart as its lines, or its links seem to be of the next one.
    await page.setViewportSize({ width: 700, height: 800 });
    const [first, second] = [await each.first().boundingBox(), await each.nth(1).boundingBox()];
    expect((second?.y ?? 0) - (first?.y ?? 0) - (first?.height ?? 0)).toBeGreaterThanOrEqual(8);
    await each.nth(1).getByRole("link", { name: "See what is left" }).click();
    await page.getByText(/^6 of 30/).waitFor();
    // What was opened stays open.
    expect(await each.nth(1).isVisible()).toBe(true);
  });

  it("show as code what a sentence of the server has in backticks, and never as markup", async () => {
    const { server } = await startSetting();
    const page = await openPage(`${server.url}/#/rejected`);
    const evil = '`<img src=x onerror="globalThis.hacked=1">`';
    const body = { batch: [{ type: evil, userId: "u" }, { userId: "u" }] };
    await fetch(`${server.url}/v1/batch`, {
      method: "POST",
      body: JSON.stringify({ writeKey: "any", ...body }),
    });
    const entry = page.getByRole("listitem").filter({ hasText: "The message has no type: it must be" });
    await entry.getByText("type", { exact: true }).and(page.locator("code")).waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    expect(await page.evaluate("globalThis.hacked")).toBeUndefined();
  });

  it("recover: a second resend that is asked for before the first was answered is not begun", async () => {
    const { server, receiver, track } = await startSetting();
    receiver.mode = "missing";
    await track("Ordered", 4);
    receiver.mode = "verifies";
    const page = await openPage(`${server.url}/#/recover`);
    let resends = 0;
    let answer = (): void => {};
    const isAnswered = new Promise<void>((resolve) => (answer = resolve));
    await page.route("**/deliveries/resend", async (route) => {
      resends += 1;
      await isAnswered;
      await route.continue();
    });
    await page.getByRole("button", { name: "Resend all" }).click();
    await page.getByRole("button", { name: /^Resend these/ }).click();
    answer();
    await page.getByText("4 of 4 resent").waitFor();
    await vi.waitFor(() => expect(receiver.accepted).toHaveLength(4));
    expect(resends).toBe(1);
  });

  it("recover: after a bad release everything that failed is resent, each once, with progress", async () => {
    const { server, receiver, track } = await startSetting();
    receiver.mode = "missing";
    await track("Ordered", 40);
    receiver.mode = { status: 422, body: "no" };
    await track("Other", 3);
    receiver.mode = "verifies";
    const page = await openPage(`${server.url}/#/recover`);
    await page.getByRole("main").getByText("43 deliveries").waitFor();
    const [, query = ""] =
      (await page.getByRole("link", { name: /422/ }).getAttribute("href"))?.split("?") ?? [];
    const shown = new URLSearchParams(query);
    expect([shown.getAll("state"), shown.getAll("status"), shown.has("since")]).toEqual([
      ["failed", "expired"],
      ["422"],
      true,
    ]);
    await page.getByRole("button", { name: /^Resend these.*422/ }).click();
    await page.getByText("3 of 3 resent").waitFor();
    // That can be told before the server has answered the button, and until it has another one does nothing.
    await settled(page);
    await page.getByRole("button", { name: "Resend all" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("40 of 40 resent").waitFor();
    await vi.waitFor(() => expect(new Set(receiver.accepted).size).toBe(43));
    expect(receiver.accepted).toHaveLength(43);
  });

  it("recover: a reason has as many deliveries as are resent, also beyond the thousand that are looked at", async () => {
    const { server, receiver, track } = await startSetting();
    receiver.mode = "missing";
    await track("Ordered", 500);
    await track("Ordered", 500);
    receiver.mode = { status: 422, body: "no" };
    await track("Other", 20);
    const page = await openPage(`${server.url}/#/recover`);
    await page.getByRole("main").getByText("1,020 deliveries").waitFor();
    const reasons = page.getByRole("link", { name: /deliveries: / });
    await expect
      .poll(() => reasons.allInnerTexts())
      .toEqual([expect.stringMatching(/^1,000\b/), expect.stringMatching(/^20\b/)]);
  });

  it("recover: what waits is tried at once when the receiver works again, not when its time comes", async () => {
    const { server, receiver, track } = await startSetting();
    receiver.mode = "down";
    await track("Ordered", 7);
    const page = await openPage(`${server.url}/#/recover`);
    const tryAll = page.getByRole("button", { name: /^Try now: \d+ waiting$/ });
    await page.getByRole("button", { name: "Try now: 7 waiting" }).click();
    await page.getByRole("status").filter({ hasText: "Trying 7 now." }).waitFor();
    await vi.waitFor(() => expect(receiver.requests).toBe(14));
    receiver.mode = "verifies";
    await tryAll.click();
    await page.getByRole("button", { name: "Try now: 0 waiting" }).waitFor();
    expect(await tryAll.isDisabled()).toBe(true);
    expect(new Set(receiver.accepted).size).toBe(7);
  });

  it("recover: says that what waits for a disabled destination is not tried, since it said that it was", async () => {
    const { server, receiver, track, api } = await startSetting();
    receiver.mode = "down";
    await track("Ordered", 2);
    const [source] = (await api("GET", "/sources")) as { name: string; destinations: { name: string }[] }[];
    const path = `/sources/${source?.name}/destinations/${source?.destinations[0]?.name}`;
    await api("PUT", path, { endpoints: [{ url: receiver.url }], enabled: false });
    const page = await openPage(`${server.url}/#/recover`);
    await page.getByRole("button", { name: "Try now: 2 waiting" }).click();
    const told = "Trying 0 now. 2 wait until their destination is enabled.";
    await page.getByRole("status").filter({ hasText: told }).waitFor();
    expect(receiver.requests).toBe(2);
  });

  it("recover: what expired after an outage of hours is there at once", async () => {
    const { server, receiver, track, api } = await startSetting();
    receiver.mode = "down";
    await track("Ordered", 2);
    await api("POST", "/clock", { advance: "5h" });
    expect(await api("GET", "/deliveries/count?state=expired")).toMatchObject({ count: 2 });
    const page = await openPage(`${server.url}/#/recover`);
    await page.getByText("2 deliveries failed or expired", { exact: true }).waitFor();
    // Without a date, or with a part of one, the time has no beginning.
    await page.getByLabel("Accepted since").fill("");
    await page.getByText("2 deliveries failed or expired, of all time", { exact: true }).waitFor();
  });

  it("recover: a resend whose end is told before its button is answered has ended", async () => {
    const { server, receiver, track } = await startSetting();
    receiver.mode = "missing";
    await track("Ordered", 3);
    receiver.mode = "verifies";
    const page = await openPage(`${server.url}/#/recover`);
    const resent = page.getByRole("status").filter({ hasText: "3 of 3 resent" });
    await page.route(/\/deliveries\/resend$/, async (route) => {
      const response = await route.fetch();
      expect(await response.json()).toMatchObject({ state: "running" });
      await resent.filter({ hasText: "done" }).waitFor();
      await route.fulfill({ response });
    });
    const resendAll = page.getByRole("button", { name: "Resend all" });
    await resendAll.click();
    await resent.waitFor();
    await settled(page);
    expect([await resent.innerText(), await resendAll.getAttribute("aria-disabled")]).toEqual([
      expect.stringContaining("done"),
      "false",
    ]);
  });

  it("recover: says whether what was resent fails again, and leads to it", async () => {
    const { server, receiver, track, api } = await startSetting();
    receiver.mode = "missing";
    await track("Ordered", 3);
    await api("POST", "/clock", { advance: "1m" });
    const page = await openPage(`${server.url}/#/recover`);
    await page.getByText("3 deliveries failed or expired", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Resend all" }).click();
    await page.getByRole("link", { name: "3 failed" }).waitFor();
    await page.getByRole("link", { name: "0 delivered" }).waitFor();
    receiver.mode = "verifies";
    await api("POST", "/clock", { advance: "1m" });
    await page.getByText("6 deliveries failed or expired", { exact: true }).waitFor();
    // Until the first button is answered, another one does nothing.
    await settled(page);
    await page.getByRole("button", { name: /^Resend these.*404/ }).click();
    await page.getByRole("link", { name: "0 failed" }).waitFor();
    // Two deliveries of each message have failed: one of them is resent.
    await page.getByRole("link", { name: "3 delivered" }).click();
    await page.getByText(/^3 of 9/).waitFor();
    expect(receiver.accepted).toHaveLength(3);
  });

  it("certify and recover: what the address names and the settings have no longer is chosen, and nothing in its place", async () => {
    const { server } = await startSetting();
    const page = await openPage(`${server.url}/#/certify?receiver=http://gone/`);
    const chosen = (label: string): Promise<string> =>
      page.getByRole("main").getByLabel(label, { exact: true }).locator("option:checked").innerText();
    await page.getByRole("option", { name: /webhooks/ }).waitFor({ state: "attached" });
    expect(await chosen("Receiver")).toBe("http://gone/");
    expect(await page.getByRole("button", { name: "Certify" }).isDisabled()).toBe(true);
    await page.goto(`${server.url}/#/recover?destination=gone/gone`);
    await page.getByText("0 deliveries failed or expired").waitFor();
    expect(await chosen("Destination")).toBe("gone/gone");
  });

  it("certify: some audits alone, which somebody else has chosen, certify no receiver", async () => {
    const { server, api } = await startSetting();
    const page = await openPage(`${server.url}/#/certify`);
    await api("POST", "/certify", { destination: "default/webhooks", only: ["rejects-tampered-body"] });
    const results = page.getByRole("region", { name: "Results" });
    await results.getByText(/^passed 1 passed, 0 failed, 0 skipped\.$/).waitFor();
    expect(await results.getByText("certified").count()).toBe(0);
  });

  it("certify: says why a server runs no audits", async () => {
    const { server } = await startSetting({
      blockPrivateNetworks: true,
      to: "https://receiver.example/webhooks",
    });
    const page = await openPage(`${server.url}/#/certify`, { expected: /409/ });
    await page.getByRole("button", { name: "Certify" }).click();
    const alert = page.getByRole("alert").filter({ hasText: "With blockPrivateNetworks" });
    await alert.waitFor();
    expect(await alert.innerText()).toContain("use countersign certify");
  });

  it("certify: audits that run are shown to everyone, after a reload too, and anyone can stop them", async () => {
    const { server, receiver, api } = await startSetting();
    const link = await layLink(receiver.url);
    link.freeze();
    await api("PUT", "/sources/default/destinations/slow", {
      endpoints: [{ url: `${link.url}/slow` }],
      secret: "a shared secret",
    });
    const first = await openPage(`${server.url}/#/certify?receiver=${link.url}/slow (default/slow)`);
    await first.getByRole("button", { name: "Certify" }).click();
    await first.getByText(/^\d+ of \d+ audits$/).waitFor();
    await first.reload();
    await first.getByText(/^\d+ of \d+ audits$/).waitFor();
    const second = await openPage(`${server.url}/#/certify`);
    await second.getByText(`${link.url.slice(7)}/slow`, { exact: true }).waitFor();
    await second.getByRole("button", { name: "Stop" }).click();
    await first.getByText("cancelled", { exact: true }).waitFor();
    expect(await first.getByRole("button", { name: "Certify" }).isEnabled()).toBe(true);
  });

  it("recover: the newest resend is shown to everyone, after a reload too, with when it began", async () => {
    const { server, receiver, track, api } = await startSetting();
    receiver.mode = "missing";
    await track("Ordered", 4);
    receiver.mode = "verifies";
    const first = await openPage(`${server.url}/#/recover`);
    await first.getByText("4 deliveries failed or expired").waitFor();
    expect(await first.getByText("of 4 resent").count()).toBe(0);
    await api("POST", "/deliveries/resend", { filter: { state: "failed" } });
    await first.getByText("4 of 4 resent").waitFor();
    await first.getByText(/^Since 00:00:00:/).waitFor();
    await first.reload();
    await first.getByText("4 of 4 resent").waitFor();
  });

  it("certify: audits that a restart has ended do not run for ever", async () => {
    const { server } = await startSetting();
    const page = await openPage(`${server.url}/#/certify`);
    await page.route("**/api/certify", (route) =>
      route.fulfill({
        json: {
          id: "certification-7",
          url: "http://x/",
          state: "running",
          startedAt: "2026-01-01T00:00:00Z",
          total: 9,
          results: [],
        },
      }),
    );
    await page.getByRole("button", { name: "Certify" }).click();
    await page.getByText("0 of 9 audits").waitFor();
    await page.getByRole("link", { name: "Budget" }).click();
    await page.getByRole("link", { name: "Certify" }).click();
    await page.getByText("cancelled", { exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "Certify" }).isEnabled()).toBe(true);
  });

  it("tell a screen reader the end of what runs, and not each step", async () => {
    const { server, track, receiver, api } = await startSetting();
    receiver.mode = "missing";
    await track("Ordered", 3);
    const job = (await api("POST", "/deliveries/resend", { filter: { state: "failed" } })) as object;
    // Nothing of it is told any more, so that the page does not ask for it again.
    await expect.poll(() => api("GET", "/resends/resend-1")).toMatchObject({ state: "done" });
    const page = await openPage(`${server.url}/#/recover`);
    await page.route("**/api/deliveries/resend", (route) =>
      route.fulfill({ json: { ...job, id: "resend-9" } }),
    );
    await page.route("**/api/certify", (route) =>
      route.fulfill({
        json: {
          id: "certification-9",
          url: "http://x/",
          state: "running",
          startedAt: "2026-01-01T00:00:00Z",
          total: 9,
          results: [],
        },
      }),
    );
    for (const [screen, action, text] of [
      ["Recover", "Resend all", /0 of 0 resent/],
      ["Certify", "Certify", /0 of 9 audits/],
    ] as const) {
      await page.getByRole("link", { name: screen, exact: true }).click();
      await page.getByRole("button", { name: action }).click();
      const running = page.getByRole("status").filter({ hasText: text });
      expect(await running.getAttribute("aria-live")).toBe("off");
      // The server does not know it: it has ended.
      await page.getByRole("link", { name: "Budget" }).click();
      await page.getByRole("link", { name: screen, exact: true }).click();
      // Until it has asked for it, the screen shows what it knew.
      await page.locator(".card [role=status][aria-live=polite]").last().waitFor();
      expect(await page.getByRole("button", { name: "Stop" }).count()).toBe(0);
    }
  });

  it("tell a screen reader that an endpoint fails, and not again whenever the number that waits changes", async () => {
    const { server, receiver, track } = await startSetting();
    receiver.mode = "down";
    await track("Ordered", 6);
    const page = await openPage(`${server.url}/#/recover`, { clock: true });
    const banner = page.getByRole("alert");
    const told = `[...document.querySelectorAll(".banners [role=alert]")].map((one) => {
      const words = one.cloneNode(true);
      for (const quiet of words.querySelectorAll("[aria-live=off]")) quiet.remove();
      return words.textContent;
    })`;
    await banner.getByText(/6 deliveries waiting/).waitFor();
    const before = await page.evaluate(told);
    await track("Ordered", 3);
    await page.clock.runFor(15_000);
    await banner.getByText(/9 deliveries waiting/).waitFor();
    expect(await page.evaluate(told)).toEqual(before);
    expect(before).toEqual([expect.stringContaining("Failing since")]);
  });

  it("recover: a resend that ended while another screen was shown has ended", async () => {
    const { server, receiver, track, api } = await startSetting();
    receiver.mode = "missing";
    await track("Ordered", 30);
    const job = (await api("POST", "/deliveries/resend", { filter: { state: "failed" } })) as object;
    await expect.poll(() => api("GET", "/resends/resend-1")).toMatchObject({ state: "done" });
    const page = await openPage(`${server.url}/#/recover`);
    // The page is told that one runs, and never that it has ended.
    await page.route("**/api/deliveries/resend", (route) =>
      route.fulfill({ json: { ...job, id: "resend-2" } }),
    );
    // What it shows of that can be gone in a moment: it may be about to read the jobs, since its stream has just begun.
    const told = page.waitForResponse("**/api/deliveries/resend");
    await page.getByRole("button", { name: "Resend all" }).click();
    await (await told).finished();
    await page.getByRole("link", { name: "See them arrive" }).click();
    await page.getByRole("link", { name: "Recover", exact: true }).click();
    await page.getByText("30 of 30 resent").waitFor();
    expect(await page.getByRole("button", { name: "Stop" }).count()).toBe(0);
    expect(await page.getByRole("button", { name: "Resend all" }).getAttribute("aria-disabled")).toBe(
      "false",
    );
  });
});
