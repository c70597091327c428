import { describe, expect, it, vi } from "vitest";
import { missing, openPage, useBrowser, why } from "../support/browser.ts";
import { startSetting } from "../support/setting.ts";

useBrowser();

describe.skipIf(missing)(`what others send${why}`, () => {
  it("is text, and nothing in it runs: HTML, bidirectional controls and __proto__, in every place", async () => {
    const { server, receiver, track } = await startSetting();
    const evil = '<script>globalThis.hacked=1</script><img src=x onerror="globalThis.hacked=1">\u202Egnp.exe';
    receiver.mode = { status: 400, body: `<h1>${evil}</h1>` };
    await track(evil, 1, {
      userId: evil,
      properties: JSON.parse(`{"__proto__":{"polluted":1},"k":${JSON.stringify(evil)}}`),
    });
    const page = await openPage(server.url);
    await page.getByRole("row").filter({ hasText: "<script>" }).click();
    await page.getByRole("heading", { level: 2 }).filter({ hasText: "⟨U+202E⟩" }).waitFor();
    await page.getByText('"__proto__": ').waitFor();
    await page.getByRole("button", { name: "Exact" }).click();
    await page.getByText("<h1><script>").waitFor();
    await page.keyboard.press("e");
    await page.locator("textarea:focus").waitFor();
    expect(await page.evaluate("[globalThis.hacked, ({}).polluted]")).toEqual([undefined, undefined]);
    expect(await page.locator("img, script:not([src])").count()).toBe(0);
  });

  it("of a megabyte opens at once and folds; what nests deeply or is no JSON is shown as well", async () => {
    const { server, receiver, api } = await startSetting();
    receiver.mode = { status: 400, body: "\u001B[31m not { JSON\u202E" };
    await server.sender.track({ userId: "u1", event: "Large" });
    await vi.waitFor(async () => expect(await api("GET", "/deliveries/count")).toMatchObject({ count: 1 }));
    const [delivery] = ((await api("GET", "/deliveries")) as { deliveries: { id: string }[] }).deliveries;
    const large = JSON.stringify({
      list: Array.from({ length: 20_000 }, (_, n) => ({ n, text: "x".repeat(30) })),
    });
    expect(large.length).toBeGreaterThan(1_000_000);
    const deep = `${"[".repeat(3_000)}1${"]".repeat(3_000)}`;
    const page = await openPage(server.url);
    for (const body of [large, deep, "no JSON at all \u202E"]) {
      const receipt = (await api("POST", `/deliveries/${delivery?.id}/resend`, { body })) as {
        deliveries: string[];
      };
      await page.goto(`${server.url}/#/deliveries?id=${receipt.deliveries[0]}`);
      const region = page.getByRole("region", { name: "Body" }).first();
      if (body.startsWith("no")) await region.getByText("This is not JSON.").waitFor();
      else await region.locator(".json-line").nth(2).waitFor();
      await region.getByRole("button", { name: "Exact" }).click();
      await page.getByLabel("Body, exactly as sent").waitFor();
      expect(await page.locator("*").count()).toBeLessThan(1_500);
      await page.getByText("⟨U+001B⟩[31m not { JSON⟨U+202E⟩").first().waitFor();
    }
  });

  it("is whole also after a NUL, in the list, in the delivery and in the answer", async () => {
    const { server, receiver, track, api } = await startSetting();
    receiver.mode = { status: 400, body: "\0PNG\0end" };
    await track("Bought\0twice", 1, { userId: "u\0two" });
    const page = await openPage(server.url);
    await page.getByRole("row").filter({ hasText: "Bought⟨U+0000⟩twice" }).click();
    await page.getByRole("heading", { level: 2 }).filter({ hasText: "u⟨U+0000⟩two" }).waitFor();
    await page.getByText("⟨U+0000⟩PNG⟨U+0000⟩end").waitFor();
    const { deliveries } = (await api("GET", "/deliveries")) as { deliveries: object[] };
    expect(deliveries).toMatchObject([{ event: "Bought\0twice", identity: "u\0two" }]);
  });
});
