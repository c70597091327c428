import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createServer } from "@countersign/server";
import { describe, expect, it, onTestFinished } from "vitest";
import { CALLS, type ClientCall } from "../support/calls.ts";
import { expectAllToArrive } from "../support/compare.ts";
import { SECRET, startReceiver } from "../support/receiver.ts";
import { openWire } from "../support/wire.ts";

/** A published client in another language. */
interface Language {
  /** The library's folder within the sources, and what else it is built from. */
  readonly sources: readonly string[];
  /** Where Debian's package puts the interpreter. */
  readonly command: string;
  /** The command line that makes the calls of a file. */
  run(paths: { folder: string; url: string; calls: string; ca: string }): Invocation;
  /** What the library cannot say. */
  adapt?(call: ClientCall): ClientCall;
}

interface Invocation {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const SOURCES = process.env["CLIENT_SOURCES"] ?? "";
const DEBIAN_GO_PATH = "/usr/share/gocode";

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const certificate = (name: string): string => here(`../../../packages/server/test/fixtures/tls/${name}`);

const LANGUAGES: Readonly<Record<string, Language>> = {
  "analytics-python": {
    sources: ["analytics-python"],
    command: "/usr/bin/python3",
    run: ({ url, calls, ca }) => ({
      args: [here("driver.py"), SOURCES, url, calls],
      env: { REQUESTS_CA_BUNDLE: ca },
    }),
  },
  "analytics-ruby": {
    sources: ["analytics-ruby"],
    command: "/usr/bin/ruby",
    run: ({ url, calls, ca }) => ({
      args: [here("driver.rb"), SOURCES, url, calls],
      env: { SSL_CERT_FILE: ca },
    }),
    // It sends no category.
    adapt: ({ category: _, ...call }) => call,
  },
  "analytics-php": {
    sources: ["analytics-php"],
    command: "/usr/bin/php",
    run: ({ url, calls, ca }) => ({
      args: ["-d", `curl.cainfo=${ca}`, here("driver.php"), SOURCES, url, calls],
    }),
    // Its arrays know no difference between an empty object and an empty list.
    adapt: (call) => ({
      ...call,
      ...(call.properties && { properties: withoutEmptyObjects(call.properties) }),
    }),
  },
  "analytics-go 3": {
    sources: ["analytics-go", "backo-go"],
    command: "/usr/bin/go",
    run: ({ folder, url, calls, ca }) => ({
      args: ["run", goProgram(folder), url, calls],
      env: {
        GO111MODULE: "off",
        GOPATH: [folder, DEBIAN_GO_PATH].join(delimiter),
        GOCACHE: join(folder, "cache"),
        SSL_CERT_FILE: ca,
      },
    }),
    // Its types have no category, and contexts with the documented fields only.
    adapt({ category: _, context, ...call }) {
      const { active: __, ...documented } = context ?? {};
      return { ...call, ...(context && { context: documented }) };
    },
  },
};

describe.each(Object.entries(LANGUAGES))("%s", (_name, language) => {
  const missing = [
    ...(SOURCES === "" ? ["CLIENT_SOURCES is not set"] : []),
    ...language.sources.map((name) => join(SOURCES, name)).filter((path) => !existsSync(path)),
    ...(existsSync(language.command) ? [] : [language.command]),
  ];
  const why = missing.length > 0 ? ` (skipped, missing: ${missing.join(", ")})` : "";

  it.skipIf(missing.length > 0)(`14 calls arrive, none lost, none changed, none extra${why}`, async () => {
    const tls = {
      cert: readFileSync(certificate("cert.pem"), "utf8"),
      key: readFileSync(certificate("key.pem"), "utf8"),
    };
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const server = await createServer({ to: receiver.url, secret: SECRET, port: 0, tls });
    onTestFinished(() => server.close());
    const wire = await openWire(server.url, tls);
    onTestFinished(() => wire.close());
    const folder = mkdtempSync(join(tmpdir(), "clients-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const calls = CALLS.map((call) => language.adapt?.(call) ?? call);
    const file = join(folder, "calls.json");
    writeFileSync(file, JSON.stringify(calls));

    const paths = { folder, url: wire.url, calls: file, ca: certificate("cert.pem") };
    await runToEnd(language.command, language.run(paths));
    await server.sender.idle();

    expect(receiver.problems).toEqual([]);
    expectAllToArrive(calls, wire.messages, receiver.messages);
  });
});

async function runToEnd(command: string, { args, env }: Invocation): Promise<void> {
  const child = spawn(command, args, {
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  child.stderr.on("data", (data: Buffer) => (output += data.toString()));
  const [code] = await once(child, "close");
  expect({ code, output: code === 0 ? "" : output }).toEqual({ code: 0, output: "" });
}

/** Lays the sources out as Go's path wants them. */
function goProgram(folder: string): string {
  const packages = join(folder, "src/github.com/segmentio");
  mkdirSync(packages, { recursive: true });
  cpSync(join(SOURCES, "analytics-go"), join(packages, "analytics-go/v3"), { recursive: true });
  cpSync(join(SOURCES, "backo-go"), join(packages, "backo-go"), { recursive: true });
  return here("driver.go");
}

function withoutEmptyObjects<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutEmptyObjects) as T;
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([, inner]) => JSON.stringify(inner) !== "{}");
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutEmptyObjects(inner)])) as T;
}
