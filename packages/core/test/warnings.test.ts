import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const SECRET = "a secret that no warning may show";
const BODY = '{"type":"track","event":"a body that no warning may show","userId":"u"}';

/** What a process prints to standard error in which a receiver gets some requests. */
async function printed(script: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const code = `
    import { createReceiver, sign } from "@countersign/core";
    const [secret, body] = ${JSON.stringify([SECRET, BODY])};
    const request = (signature, from = { from: "raw", value: body }) => ({
      method: "POST",
      headers: { "content-type": "application/json", "x-signature": signature },
      body: from,
      request: undefined,
    });
    let now = 1_000_000;
    Date.now = () => now;
    const wait = (ms) => (now += ms);
    ${script}`;
  const { stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code], {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    env: { ...process.env, NODE_DEBUG: "", ...env },
  });
  expect(stderr).not.toContain(SECRET);
  expect(stderr).not.toContain("a body that no warning may show");
  return stderr;
}

const count = (text: string, part: string): number => text.split(part).length - 1;

describe("without onRejected, the process is warned", () => {
  it("of a wrong signature with its cause, once a minute, whichever receiver refused it", async () => {
    const stderr = await printed(`
      for (const minute of [0, 1]) {
        for (let index = 0; index < 5; index += 1) {
          await createReceiver({ secret }).receive(request(sign(body, secret + "\\n")));
        }
        wait(59_999);
        await createReceiver({ secret }).receive(request(sign(body, "other")));
        wait(1);
      }`);
    expect(count(stderr, "[COUNTERSIGN_SIGNATURE]")).toBe(2);
    expect(count(stderr, "The signature matches the secret with white space around it")).toBe(2);
  });

  it("of a wrong signature of a large body, without looking for its cause", async () => {
    const stderr = await printed(`
      const large = body + " ".repeat(65_536);
      await createReceiver({ secret }).receive(request(sign(large, secret + " "), { from: "raw", value: large }));`);
    expect(stderr).toContain(
      "[COUNTERSIGN_SIGNATURE] Warning: A webhook was rejected: ERR_SIGNATURE_MISMATCH.",
    );
    expect(stderr).not.toContain("white space around it");
  });

  it("of a signature with a prefix, which is malformed", async () => {
    const stderr = await printed(`
      await createReceiver({ secret }).receive(request("sha1=" + sign(body, secret)));`);
    expect(stderr).toContain(
      "[COUNTERSIGN_SIGNATURE] Warning: A webhook was rejected: ERR_SIGNATURE_MALFORMED.",
    );
  });

  it("of a body that was read before, once", async () => {
    const stderr = await printed(`
      for (let index = 0; index < 3; index += 1) {
        wait(60_000);
        await createReceiver({ secret }).receive(request(sign(body, secret), { from: "gone" }));
      }`);
    expect(count(stderr, "[COUNTERSIGN_BODY_READ]")).toBe(1);
    expect(stderr).toContain("Mount verifyWebhook() before it, or let it keep the bytes");
  });

  it.each(['"quoted"', "'quoted'", "spaced ", "\tspaced"])("of the secret %j, once", async (secret) => {
    const given = JSON.stringify(secret);
    const stderr = await printed(
      `createReceiver({ secret: ${given} }); createReceiver({ secret: ${given} });`,
    );
    expect(count(stderr, "[COUNTERSIGN_SECRET]")).toBe(1);
    expect(stderr).not.toMatch(/quoted|spaced/);
  });

  it("about nothing else: neither a missing signature, nor a secret with quotes inside", async () => {
    const stderr = await printed(`
      await createReceiver({ secret }).receive(request(undefined));
      createReceiver({ secret: 'it"s' });
      await createReceiver({ secret }).receive(request(sign(body, secret)));`);
    expect(stderr).toBe("");
  });
});

it("onRejected and onError: throw replace the warnings", async () => {
  const stderr = await printed(`
    await createReceiver({ secret, onRejected() {} }).receive(request(sign(body, "other")));
    await createReceiver({ secret, onRejected() {} }).receive(request(sign(body, secret), { from: "gone" }));
    await createReceiver({ secret, onError: "throw" }).receive(request(sign(body, "other"))).catch(() => {});`);
  expect(stderr).toBe("");
});

it("NODE_DEBUG=countersign shows every verdict", async () => {
  const script = `
    const claims = ["new", "done"];
    const dedupe = { claim: async () => claims.shift(), commit: async () => {}, release: async () => {} };
    const receiver = createReceiver({ secret, dedupe, onRejected() {} });
    for (const signature of [sign(body, secret), sign(body, secret), sign(body, "other"), undefined]) {
      await receiver.receive(request(signature));
    }`;
  const lines = (await printed(script, { NODE_DEBUG: "countersign" })).trimEnd().split("\n");
  expect(lines.map((line) => line.replace(/^COUNTERSIGN \d+: /, ""))).toEqual([
    'verified "track" over bytes, secret 0',
    'duplicate "track"',
    expect.stringMatching(/^rejected 401 ERR_SIGNATURE_MISMATCH: /),
    expect.stringMatching(/^rejected 401 ERR_SIGNATURE_MISSING: /),
  ]);
  expect(await printed(script)).toBe("");
});
