import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { missing, openPage, settled, useBrowser, violations, why } from "../support/browser.ts";
import { SECRET, startReceiver, startSetting, type Setting } from "../support/setting.ts";

useBrowser();

const SOURCES = 600;
/** As `MANY` of the page. */
const SHOWN = 50;

/** A server with a source for each of many tenants, of which the first have sent a call. */
async function startMany(senders = 0): Promise<Setting> {
  const { url } = await startReceiver();
  const sources = Array.from({ length: SOURCES }, (_, tenant) => {
    const endpoints = [{ url: `${url}/${tenant}/first` }, { url: `${url}/${tenant}/second` }];
    const audit = { name: "audit", endpoints: [{ url: `${url}/${tenant}/audit` }], secret: SECRET };
    return {
      name: `tenant-${tenant}`,
      destinations: [{ name: "webhooks", endpoints, secret: SECRET }, audit],
    };
  });
  const setting = await startSetting({ to: undefined, secret: undefined, sources });
  for (let tenant = 0; tenant < senders; tenant += 1) {
    const body = JSON.stringify({ writeKey: `tenant-${tenant}`, userId: "u1", event: "Ordered" });
    await fetch(`${setting.server.url}/v1/track`, { method: "POST", body });
  }
  await setting.clock.advance(0);
  return setting;
}

const main = (page: Page): Locator => page.getByRole("main");
const finder = (page: Page, nouns: string): Locator =>
  main(page).getByRole("searchbox", { name: `Find ${nouns}` });
const cards = (page: Page): Locator => main(page).locator("section.card").filter({ hasText: "tenant-" });

async function go(page: Page, { server }: Setting, hash: string): Promise<void> {
  await page.goto(`${server.url}/#/${hash}`);
  await settled(page);
}

describe.skipIf(missing)(`thousands of sources${why}`, () => {
  it("no screen shows all of them at once, since a browser was busy with that for up to 50 seconds", async () => {
    const setting = await startMany(SHOWN);
    const page = await openPage(setting.server.url);
    for (const [screen, nouns, all, shown] of [
      ["deliveries", "destinations", 2 * SOURCES, 0],
      ["send", "sources", SOURCES, 0],
      ["faults", "endpoints", 3 * SOURCES, SHOWN],
      ["budget", "endpoints", 3 * SHOWN, SHOWN],
      ["recover", "destinations", 2 * SOURCES, 0],
      ["certify", "receivers", 3 * SOURCES, 0],
      ["settings", "sources", SOURCES, SHOWN],
    ] as const) {
      await go(page, setting, screen);
      await finder(page, nouns).first().waitFor();
      const text = `${SHOWN} of ${all.toLocaleString("en-US")} ${nouns}`;
      expect([screen, await main(page).getByText(text, { exact: true }).count()]).not.toEqual([screen, 0]);
      expect([screen, await cards(page).count()]).toEqual([screen, shown]);
      const [options, elements] = [await page.locator("option").count(), await page.locator("*").count()];
      expect([screen, options <= 5 * SHOWN, elements < 8_000]).toEqual([screen, true, true]);
    }
  });

  it("a list to choose from finds each by its name or URL, and keeps what is chosen", async () => {
    const setting = await startMany(2);
    const page = await openPage(setting.server.url);
    const list = (label: string): Locator =>
      main(page).getByRole("combobox", { name: label, exact: true }).first();
    /** Searches for what one alone has, and chooses that one. */
    const choose = async (nouns: string, text: string, label: string, value: RegExp): Promise<void> => {
      await finder(page, nouns).first().fill(text);
      await main(page)
        .getByText(`1 ${nouns.slice(0, -1)}`, { exact: true })
        .first()
        .waitFor();
      const words = await list(label).locator("option").filter({ hasText: value }).first().textContent();
      await list(label).selectOption({ label: words ?? "" });
    };
    const rows = page.getByRole("row").filter({ hasText: "Ordered" });
    await expect.poll(() => rows.count()).toBe(4);
    await choose("destinations", "TENANT-1/w", "destination", /webhooks/);
    const destination = list("destination");
    await expect.poll(() => page.url()).toContain("destination=tenant-1%2Fwebhooks");
    await expect.poll(() => rows.count()).toBe(1);
    // Another search, and one that finds nothing, chooses nothing.
    await finder(page, "destinations").fill("no such tenant");
    await main(page).getByText("0 destinations", { exact: true }).waitFor();
    expect(await destination.inputValue()).toBe("tenant-1/webhooks");
    expect(await destination.locator("option").allInnerTexts()).toEqual([
      "All destinations",
      "tenant-1/webhooks",
    ]);
    await destination.selectOption("All destinations");
    await expect.poll(() => rows.count()).toBe(4);

    await go(page, setting, "recover");
    await choose("destinations", "tenant-587/a", "Destination", /tenant-587/);
    await expect.poll(() => page.url()).toContain("destination=tenant-587%2Faudit");

    await go(page, setting, "certify");
    await choose("receivers", "/554/second", "Receiver", /second/);
    await expect.poll(() => page.url()).toContain("554%2Fsecond");

    await go(page, setting, "send");
    await choose("sources", "tenant-577", "Source", /577/);
    await page.getByRole("form", { name: "Send a message" }).getByText("Valid").waitFor();
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByRole("link", { name: "to tenant-577/audit" }).waitFor();
  });

  it("a list of cards finds each source, destination and endpoint, and shows first what begins with it", async () => {
    const setting = await startMany(SHOWN);
    const page = await openPage(`${setting.server.url}/#/settings`);
    await finder(page, "sources").fill("tenant-5");
    await main(page).getByText(`${SHOWN} of 111 sources`, { exact: true }).waitFor();
    expect(await cards(page).first().getByRole("heading").innerText()).toMatch(/^tenant-5\b/);
    await finder(page, "sources").fill("/598/AUDIT");
    await main(page).getByText("1 source", { exact: true }).waitFor();
    expect(await cards(page).count()).toBe(1);
    // What is opened and saved leaves it as it was.
    await cards(page).getByRole("link", { name: "audit" }).click();
    await page.getByRole("form", { name: "Destination" }).waitFor();
    await expect.poll(() => page.url()).toContain("source=tenant-598&destination=audit");
    expect(await cards(page).count()).toBe(1);

    for (const screen of ["faults", "budget"]) {
      await go(page, setting, screen);
      await finder(page, "endpoints").fill("(tenant-42/w");
      await main(page).getByText("2 endpoints", { exact: true }).waitFor();
      await expect.poll(() => cards(page).count()).toBe(2);
    }
    await finder(page, "endpoints").fill("");
    await expect.poll(() => cards(page).count()).toBe(SHOWN);
  });

  it("a handful are all shown, without a field to find them", async () => {
    const { server, track } = await startSetting();
    await track("Ordered");
    const page = await openPage(server.url);
    for (const screen of ["send", "faults", "budget", "recover", "certify", "settings"]) {
      await page.goto(`${server.url}/#/${screen}`);
      await page.locator(`.screen-${screen} .card`).first().waitFor();
      expect([screen, await main(page).getByRole("searchbox").count()]).toEqual([screen, 0]);
    }
  });

  it("many changes at once are read once more, since each had 11 MB read", async () => {
    const setting = await startMany();
    const page = await openPage(`${setting.server.url}/#/settings`);
    let asked = 0;
    let answer = (): void => {};
    const isAnswered = new Promise<void>((resolve) => (answer = resolve));
    await page.route("**/api/sources", async (route) => {
      asked += 1;
      await isAnswered;
      await route.continue();
    });
    for (let change = 0; change < 20; change += 1) await setting.api("PUT", `/sources/added-${change}`, {});
    // When the page has heard of what came after them, it has heard of all of them.
    const last = page.waitForRequest("**/api/faults");
    await setting.api("POST", "/faults", { fault: "reset", times: 1 });
    await last;
    // It stays one, since the answer is held.
    await expect.poll(() => asked).toBe(1);
    answer();
    await main(page).getByText(`${SHOWN} of 620 sources`, { exact: true }).waitFor();
    await settled(page);
    expect(asked).toBeLessThan(4);
  });

  it("the field to find them has no violation of accessibility, and fits on a telephone", async () => {
    const setting = await startMany(SHOWN);
    const page = await openPage(setting.server.url, { width: 375 });
    const wrong: unknown[] = [];
    for (const [screen, nouns] of [
      ["deliveries", "destinations"],
      ["recover", "destinations"],
      ["certify", "receivers"],
      ["send", "sources"],
      ["budget", "endpoints"],
      ["settings", "sources"],
    ] as const) {
      await go(page, setting, screen);
      await finder(page, nouns).first().fill("tenant-42");
      const widths = `[document.documentElement, document.querySelector(".main")].filter((one) => one.scrollWidth > one.clientWidth)`;
      if (Number(await page.evaluate(`${widths}.length`)) > 0) wrong.push(`${screen} is too wide`);
      // Alone, within a label, and above cards.
      if (["deliveries", "certify", "settings"].includes(screen)) wrong.push(...(await violations(page)));
    }
    expect(wrong).toEqual([]);
  });
});
