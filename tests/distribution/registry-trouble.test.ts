import { describe, expect, it } from "vitest";
import { withRegistry } from "../../scripts/registry-trouble.mjs";

/** Installs that print this, one after the other, and how many were begun. */
async function tries(...printed: readonly string[]): Promise<readonly [last: string, begun: number]> {
  let begun = 0;
  const install = async (): Promise<string> => printed[(begun += 1) - 1] ?? "";
  const last = await withRegistry(install, (problem) => problem);
  return [last, begun];
}

describe("an install", () => {
  it.each([
    "npm error code ECONNRESET",
    "npm error code E503",
    "npm error 429 Too Many Requests - GET https://registry.example/zod\nnpm error code E429",
    "npm error code ERR_SOCKET_TIMEOUT",
    " ERR_PNPM_META_FETCH_FAIL  GET https://registry.example/zod: request failed",
    " ERR_PNPM_FETCH_502  GET https://registry.example/zod: Bad Gateway - 502",
  ])("is tried again where the registry did not answer: %j", async (trouble) => {
    expect(await tries(trouble, "")).toEqual(["", 2]);
    expect(await tries(trouble, trouble, trouble, "")).toEqual([trouble, 3]);
  });

  it.each([
    "",
    "npm error code E404",
    "npm error code ERESOLVE",
    " ERR_PNPM_FETCH_404  GET: Not Found - 404",
  ])("is not tried again for any other reason: %j", async (reason) => {
    expect(await tries(reason, "")).toEqual([reason, 1]);
  });
});
