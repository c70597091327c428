import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { hasIpv6, noIpv6 } from "../../../core/test/support/ipv6.ts";
import { isWindows, noPosix } from "../../../core/test/support/windows.ts";
import { temporaryDirectory } from "../../../../tests/support/resources.ts";
import { createSelfSigned, isUsable } from "../../src/tls/self-signed.ts";
import { runCommand, startCommand, type RunningCommand } from "../support/command.ts";
import { runHere } from "../support/run-here.ts";

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../../server/test/fixtures/tls/${name}`, import.meta.url));
/** An address of no machine, for documents (RFC 5737). */
const ELSEWHERE = "192.0.2.1";
const TO = ["--to", "http://127.0.0.1:9/webhooks", "--drain", "1"];

async function startTls(
  args: readonly string[],
  cwd: string,
): Promise<{ command: RunningCommand; url: string; trust: string }> {
  const command = startCommand(["serve", "--port", "0", ...TO, ...args], { cwd });
  const [, url = ""] = await command.printed(/listens on (https:\S+)/);
  const [, trust = ""] = args.includes("--tls-self-signed") ? await command.printed(/Trust +(.+)/) : [];
  return { command, url, trust };
}

async function post(url: string, ca: string): Promise<number> {
  const call = request(`${url}/v1/track`, { method: "POST", ca: readFileSync(ca), agent: false });
  call.end('{"writeKey":"any","userId":"u","event":"E"}');
  const [answer] = await once(call, "response");
  answer.resume();
  return answer.statusCode;
}

async function stop(command: RunningCommand): Promise<void> {
  command.process.kill("SIGTERM");
  expect(await command.ended).toBe(0);
}

describe.skipIf(isWindows)(`serve --tls-self-signed${noPosix}`, () => {
  it("prints what to trust, and a client that trusts it is heard at every local address", async () => {
    const { command, url, trust } = await startTls(["--tls-self-signed"], temporaryDirectory());
    expect(await post(url, trust)).toBe(200);
    expect(await post(url.replace("127.0.0.1", "localhost"), trust)).toBe(200);
    expect(command.stdout()).toContain(`NODE_EXTRA_CA_CERTS=${trust}`);
    expect(command.stdout()).toMatch(/SHA-256 (?:[0-9A-F]{2}:){31}/);
    await stop(command);
    expect(existsSync(trust)).toBe(false);
  });

  // A container with a read-only file system has no folder for temporary files, either.
  it.each<[string, (cwd: string) => [args: string[], env: Record<string, string>]]>([
    ["no folder for temporary files", (cwd) => [[], { TMPDIR: join(cwd, "none") }]],
    [
      "a data directory that takes no certificate",
      (cwd) => {
        mkdirSync(join(cwd, "data/tls-key.pem"), { recursive: true });
        return [["--data", "data"], {}];
      },
    ],
  ])("says with %s what to do", async (_, prepare) => {
    const cwd = temporaryDirectory();
    const [args, env] = prepare(cwd);
    const { code, stderr } = await runHere(["serve", "--port", "0", ...TO, "--tls-self-signed", ...args], {
      cwd,
      env,
    });
    expect(stderr).toMatch(
      /^countersign: The certificate of --tls-self-signed cannot be written: E.*\. Give --data a directory that can be written\.$/m,
    );
    expect(code).toBe(2);
  });

  it("leaves no certificate behind when it cannot start", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const cwd = temporaryDirectory();
    const args = ["serve", ...TO, "--tls-self-signed", "--port", String(port)];
    const { code, stderr } = await runCommand(args, { cwd, env: { TMPDIR: cwd } });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`Port ${port} on 127.0.0.1 is already in use`),
    ]);
    expect(readdirSync(cwd)).toEqual([]);
  });

  it.for(["0.0.0.0", "::"])(
    "prints a URL that a client on this machine can call, listening on every address (%s)",
    async (host, { skip }) => {
      skip(host === "::" && !hasIpv6, noIpv6);
      const args = ["--tls-self-signed", "--host", host, "--token", "s3cret"];
      const { command, url, trust } = await startTls(args, temporaryDirectory());
      expect(await post(url, trust)).toBe(200);
      expect(command.stdout()).toContain("on other machines, with the name or the address of this machine");
      await stop(command);
    },
  );

  it.each([
    ["the option", ["--host", ELSEWHERE], {}],
    ["the config file", [], { host: ELSEWHERE }],
  ])("makes a certificate for the address that it is to listen on, from %s", async (_, args, config) => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, "countersign.config.json"), JSON.stringify(config));
    const tls = ["--tls-self-signed", "--data", "data", "--token", "s3cret"];
    const { stderr } = await runCommand(["serve", "--port", "0", ...TO, ...tls, ...args], { cwd });
    expect(stderr).toContain(`Cannot listen on ${ELSEWHERE}`);
    const certificate = new X509Certificate(readFileSync(join(cwd, "data", "tls-cert.pem")));
    expect(certificate.checkIP(ELSEWHERE)).toBe(ELSEWHERE);
  });

  it("keeps the certificate in --data, so that clients trust the next run too, and its key from others", async () => {
    const cwd = temporaryDirectory();
    const first = await startTls(["--tls-self-signed", "--data", "data"], cwd);
    const certificate = readFileSync(first.trust, "utf8");
    expect(statSync(join(cwd, "data", "tls-key.pem")).mode & 0o777).toBe(0o600);
    await stop(first.command);
    const second = await startTls(["--tls-self-signed", "--data", "data"], cwd);
    expect(readFileSync(second.trust, "utf8")).toBe(certificate);
    expect(await post(second.url, second.trust)).toBe(200);
    await stop(second.command);
    writeFileSync(join(cwd, "data", "tls-key.pem"), "damaged");
    writeFileSync(join(cwd, "data", "tls-cert.pem"), "damaged");
    const third = await startTls(["--tls-self-signed", "--data", "data"], cwd);
    expect(await post(third.url, third.trust)).toBe(200);
  });
});

it.skipIf(isWindows)(
  `a folder's name may have spaces and quotes in it: the lines for clients are read by a shell${noPosix}`,
  async () => {
    const data = join(temporaryDirectory(), "Ada's data (new)");
    const { command, url, trust } = await startTls(
      ["--tls-self-signed", "--data", data],
      temporaryDirectory(),
    );
    expect(trust).toBe(join(data, "tls-cert.pem"));
    const [, assignment = ""] = await command.printed(/Node\.js +(.+)/);
    const script = `${assignment}; printf %s "$NODE_EXTRA_CA_CERTS"`;
    expect(execFileSync("sh", ["-c", script], { encoding: "utf8" })).toBe(trust);
    expect(await post(url, trust)).toBe(200);
  },
);

it("a certificate that is kept does not end soon after a start", async () => {
  const day = 86_400_000;
  const now = Date.parse("2026-01-31T14:00:00.000Z");
  const { cert } = await createSelfSigned(["localhost"], now);
  expect(isUsable(cert, ["localhost"], now + 330 * day)).toBe(true);
  expect(isUsable(cert, ["localhost"], now + 340 * day)).toBe(false);
});

describe("serve --tls-cert --tls-key", () => {
  it("listens with the certificate of a file", async () => {
    const args = ["--tls-cert", fixture("cert.pem"), "--tls-key", fixture("key.pem")];
    const { url } = await startTls(args, temporaryDirectory());
    expect(await post(url, fixture("cert.pem"))).toBe(200);
  });

  it.each<[string[], RegExp]>([
    [["--tls-cert", fixture("cert.pem")], /--tls-cert needs --tls-key/],
    [["--tls-key", fixture("key.pem")], /--tls-key needs --tls-cert/],
    [["--tls-self-signed", "--tls-cert", fixture("cert.pem")], /either --tls-self-signed or --tls-cert/],
    [
      ["--tls-cert", "missing.pem", "--tls-key", fixture("key.pem")],
      /--tls-cert: .*missing\.pem cannot be read/,
    ],
    [
      ["--tls-cert", fixture("key.pem"), "--tls-key", fixture("key.pem")],
      /not a certificate: it is a private key/,
    ],
    [
      ["--tls-cert", fixture("cert.pem"), "--tls-key", fixture("cert.pem")],
      /not a private key: it is a certificate/,
    ],
    [
      ["--tls-cert", fixture("cert.pem"), "--tls-key", fixture("other-key.pem")],
      /not the key of the certificate/,
    ],
  ])("%j ends with 2 and says what is wrong", async (args, message) => {
    const { code, stderr } = await runHere(["serve", "--port", "0", ...TO, ...args], {
      cwd: temporaryDirectory(),
    });
    expect(stderr).toMatch(message);
    expect(code).toBe(2);
  });
});
