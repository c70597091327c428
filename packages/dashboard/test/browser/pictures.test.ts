import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { missing, openPage, settled, useBrowser, why } from "../support/browser.ts";
import { startSetting } from "../support/setting.ts";

// The pictures of the README. `pnpm pictures` takes them anew. Beside each is the text that it shows: when the page says something
// else, the picture is out of date, and the test fails.
const FOLDER = fileURLToPath(new URL("../../../../docs/images/", import.meta.url));
const TAKES = process.env["COUNTERSIGN_PICTURES"] === "1";

/** The words that a page says, each once: what differs from run to run has digits in it, or is the unit after them. */
async function textOf(page: Page): Promise<string> {
  const text = (await page.locator("body").innerText()).replaceAll(/\d (?:ms|s|min|h)\b/g, "0");
  const words = text.split(/\s+/).filter((word) => !/\d/.test(word));
  return `${[...new Set(words)].toSorted().join("\n")}\n`;
}

async function expectPicture(page: Page, name: string): Promise<void> {
  await settled(page);
  if (TAKES) {
    mkdirSync(FOLDER, { recursive: true });
    await page.screenshot({ path: `${FOLDER}${name}.png` });
    writeFileSync(`${FOLDER}${name}.txt`, await textOf(page));
  }
  await expect.poll(() => textOf(page)).toBe(readFileSync(`${FOLDER}${name}.txt`, "utf8"));
  expect(readFileSync(`${FOLDER}${name}.png`).subarray(1, 4).toString()).toBe("PNG");
}

useBrowser();

describe.skipIf(missing)(`the pictures of the README${why}`, () => {
  it("show a delivery that is retried", async () => {
    const { server, receiver, track, api } = await startSetting();
    for (const event of ["Signed Up", "Product Viewed", "Product Added", "Checkout Started"])
      await track(event, 2);
    receiver.mode = "missing";
    await track("Coupon Applied");
    receiver.mode = "down";
    await track("Order Completed");
    await api("POST", "/clock", { advance: "3h" });
    receiver.mode = "verifies";
    for (const event of ["Order Shipped", "Order Rated"]) await track(event);
    const page = await openPage(server.url, { width: 1440, height: 860 });
    await page.getByRole("row").filter({ hasText: "Order Completed" }).click();
    await page.getByText(/^Waits for its/).waitFor();
    await page.getByRole("region", { name: "Body", exact: true }).getByText('"event": ').waitFor();
    await page.mouse.move(5, 850);
    await expectPicture(page, "deliveries");
  });

  it("show a receiver that accepts a forgery", async () => {
    const { server, receiver, track, api } = await startSetting();
    await track("Signed Up", 3);
    receiver.mode = "gullible";
    await api("POST", "/faults", { fault: "bad_signature", times: 1 });
    await track("Order Completed");
    const page = await openPage(server.url, { width: 1440, height: 500, scheme: "dark" });
    await page.getByRole("alert").waitFor();
    await page.getByRole("row").filter({ hasText: "forgery accepted" }).waitFor();
    await expectPicture(page, "forgery");
  });
});
