import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { runCommand } from "../support/command.ts";
import { hasPseudoTerminals, startOnTerminal, withoutColours } from "../support/pty.ts";
import { cleanUp, closing } from "../../../../tests/support/resources.ts";
import { startReceiver } from "../../../server/test/support/receiver.ts";

const ONLY = ["rejects-made-up-signature", "rejects-missing-signature", "rejects-get"];
const only = ONLY.flatMap((id) => ["--only", id]);

/** A receiver that believes everyone. */
async function naiveReceiver(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().once("end", () => response.writeHead(204).end());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
}

describe("certify", () => {
  it.skipIf(!hasPseudoTerminals).each([80, 120])(
    "shows an accepted forgery in bold red on a terminal of %i columns, and again as the last line",
    async (columns) => {
      const command = startOnTerminal(["certify", await naiveReceiver(), "--secret", "dev", ...only], {
        columns,
      });
      expect(await command.ended).toBe(1);
      const alarm = "\u001B[1m\u001B[31mACCEPTED A FORGERY";
      expect(command.shown()).toContain(`${alarm}  ✗ MUST`);
      const last = command.shown().trimEnd().split("\n").at(-1) ?? "";
      expect(last.startsWith(alarm)).toBe(true);
      expect(withoutColours(last)).toMatch(/^ACCEPTED A FORGERY: rejects-made-up-signature\b/);
    },
  );

  it("does not cry wolf: other failures, and receivers that verify, have no such line", async () => {
    const naive = await runCommand([
      "certify",
      await naiveReceiver(),
      "--secret",
      "dev",
      "--only",
      "rejects-get",
    ]);
    expect(naive.stdout).toContain("✗");
    expect(naive.stdout).not.toContain("ACCEPTED A FORGERY");
    const receiver = closing(await startReceiver("dev"));
    const good = await runCommand(["certify", receiver.url, "--secret", "dev", ...only]);
    expect(good.code).toBe(0);
    expect(good.stdout).not.toContain("ACCEPTED A FORGERY");
  });
});
