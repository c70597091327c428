import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { certify, type Language } from "@countersign/certify";
import { describe, expect, it, vi, type TestContext } from "vitest";
import { bin } from "./support/command.ts";
import { startFront } from "./support/wrong-receivers/front.ts";
import { freePort } from "./support/free-port.ts";

const SECRET = "the secret of these receivers";
/** How long a receiver without a mistake may take, above all PHP's to read 64 MiB on a machine that has other work. */
const PATIENCE_MS = 60_000;
const folder = fileURLToPath(new URL("support/wrong-receivers/", import.meta.url));

interface Runtime {
  readonly language: Language;
  /** Starts the receiver on a port. */
  readonly command: (port: number) => readonly string[];
  /** What it does wrong, and how the first line that certify prints goes on after the level. */
  readonly mistakes: Readonly<Record<string, RegExp>>;
  /** Whether its receivers are audited side by side. PHP's server reads all of 64 MiB, one at a time. */
  readonly concurrent: boolean;
  /** The MUSTs that a correct receiver fails there, since the web server in front of it decides. */
  readonly decidedInFront: readonly string[];
}

const RUNTIMES: readonly Runtime[] = [
  {
    language: "node",
    concurrent: true,
    command: () => [process.execPath, `${folder}receiver.mjs`],
    mistakes: {
      "other-secret":
        /\(accepts-track\): its secret is a different one, or it signs something other than the body/,
      "leading-zeros": /\(accepts-leading-zeros\): it writes hex without leading zeros/,
      "optional-signature": /^ACCEPTED A FORGERY .*\(rejects-missing-signature\): accepted it with 204/,
      // Six seconds, and more where other work holds the processes up.
      slow: /\(answers-within-5-seconds\): answered after (?:[6-9]|\d\d)\.\d s; the sender gives up at 5 s/,
    },
    decidedInFront: [],
  },
  {
    language: "python",
    concurrent: true,
    command: () => ["python3", `${folder}receiver.py`],
    mistakes: {
      dumps: /\(accepts-track\): it signs JSON that it has serialised again, not the bytes it received/,
      base64: /\(accepts-track\): it expects the signature in base64, not in hex/,
      prefix: /^ACCEPTED A FORGERY .*\(rejects-partial-signature\): accepted it with 204/,
      leak: /\(leaks-no-digest\): an answer contains the right digest, or the secret/,
    },
    decidedInFront: [],
  },
  {
    language: "php",
    concurrent: false,
    command: (port) => ["php", "-S", `127.0.0.1:${port}`, `${folder}receiver.php`],
    mistakes: {
      sha256: /\(accepts-track\): it computes HMAC-SHA256, not HMAC-SHA1/,
      "unset-secret": /\(accepts-track\): its secret is not set: it uses an empty one/,
      unchecked:
        /^ACCEPTED A FORGERY .*\(rejects-made-up-signature\): it accepts forged messages: X-Signature is not checked/,
      "unchecked-json": /\(rejects-invalid-json\): accepted it with 204/,
    },
    decidedInFront: ["rejects-declared-oversize", "rejects-chunked-oversize"],
  },
];

/** Starts a receiver with a mistake, and waits until it answers. */
async function start(
  { command }: Runtime,
  mistake: string,
  { onTestFinished }: TestContext,
): Promise<string> {
  const port = await freePort();
  const [file = "", ...args] = command(port);
  const child = spawn(file, args, {
    env: { PATH: process.env["PATH"], PORT: String(port), SECRET, MISTAKE: mistake },
    stdio: "ignore",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const url = `http://127.0.0.1:${port}/webhooks`;
  await vi.waitFor(() => fetch(url), { timeout: 60_000 });
  return url;
}

/** What the command prints about a receiver. */
async function certifyByCommand(
  url: string,
  language: Language,
): Promise<{ code: unknown; lines: string[] }> {
  const child = spawn(process.execPath, [bin, "certify", url, "--secret", SECRET, "--for", language]);
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  child.stderr.on("data", (data: Buffer) => (output += data.toString()));
  const [code] = (await once(child, "close")) as [unknown];
  return { code, lines: output.split("\n") };
}

for (const runtime of RUNTIMES) {
  const { language, command, mistakes, concurrent, decidedInFront } = runtime;
  const isHere = spawnSync(command(0)[0] ?? "", ["--version"]).status === 0;
  const missing = isHere ? "" : ` (skipped: ${command(0)[0]} is not on this machine)`;

  // Beside those of the others: one of them takes six seconds for each answer.
  const options = { concurrent: true, timeout: 180_000 };
  describe.skipIf(!isHere)(`a receiver in ${language}${missing}`, options, () => {
    it.for(Object.entries(mistakes))(
      "with the mistake %s: the first line names the cause",
      { concurrent },
      async ([mistake, cause], context) => {
        const { code, lines } = await certifyByCommand(await start(runtime, mistake, context), language);
        expect(lines[0]).toMatch(/^(?:ACCEPTED A FORGERY {2})?✗ MUST {3}/);
        expect(lines[0]).toMatch(cause);
        expect(code).toBe(1);
      },
    );

    const none = decidedInFront.length === 0 ? "no MUST" : "only what its web server decides";
    it(`without a mistake fails ${none}`, { concurrent }, async (context) => {
      const url = await start(runtime, "none", context);
      const report = await certify({ url, secret: SECRET, language, timeoutMs: PATIENCE_MS });
      const failed = report.results.filter(({ level, outcome }) => level === "MUST" && outcome !== "passed");
      expect(failed.map(({ id }) => id)).toEqual(decidedInFront);
      for (const result of failed) {
        expect(result).toMatchObject({ failure: { fix: expect.stringContaining("the web server") } });
      }
    });

    it.for(decidedInFront.length === 0 ? [] : ["a web server with a limit"])(
      "without a mistake fails no MUST behind %s",
      { concurrent },
      async (_, context) => {
        const front = await startFront(await start(runtime, "none", context));
        context.onTestFinished(() => void front.server.close());
        const report = await certify({ url: front.url, secret: SECRET, language, timeoutMs: PATIENCE_MS });
        const failed = report.results.filter(
          ({ level, outcome }) => level === "MUST" && outcome !== "passed",
        );
        expect(failed).toEqual([]);
      },
    );
  });
}
