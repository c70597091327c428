import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { audits } from "@countersign/certify";
import { createSender } from "@countersign/sender";
import { NO_ANSWER_CODES } from "@countersign/sender/explain";
import { createServer, REJECTION_REASONS } from "@countersign/server";
import { CODE_GROUPS, findCode } from "countersign/codes";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../tests/support/resources.ts";
import { startCommand } from "../support/command.ts";
import { runHere } from "../support/run-here.ts";

const packages = fileURLToPath(new URL("../../..", import.meta.url));
const ALL = CODE_GROUPS.flatMap(({ pages }) => Object.entries(pages));
const known = new Set(ALL.map(([code]) => code));

/** The text of every source file, with its place. The pages themselves do not count as a use of a code. */
const SOURCES = readdirSync(packages)
  .flatMap((name) => filesBelow(join(packages, name, "src")))
  .filter((file) => !file.includes(join("cli", "src", "codes")))
  .map((file) => ({ file: file.slice(packages.length), text: withoutVariables(readFileSync(file, "utf8")) }));

/** Options may come from variables of the environment, which are no codes. */
function withoutVariables(text: string): string {
  return text.replaceAll(/\.env\("[A-Z_]+"\)/g, "");
}

function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => join(folder, file));
  } catch {
    // A package without sources.
    return [];
  }
}

/** Every match of a pattern in the sources that has no page, with the file. */
function withoutPage(pattern: RegExp, files: RegExp = /./): string[] {
  const missing = SOURCES.filter(({ file }) => files.test(file)).flatMap(({ file, text }) =>
    [...text.matchAll(pattern)]
      .map(([, code = ""]) => ({ code, file }))
      .filter(({ code }) => !known.has(code)),
  );
  return [...new Set(missing.map(({ code, file }) => `${code} in ${file}`))];
}

/** The members of a union of texts in the sources of a package. */
function unionOf(name: string, package_: string): string[] {
  const declaration = new RegExp(`type ${name} =([^;]+);`);
  const source = SOURCES.find(({ file, text }) => file.startsWith(package_) && declaration.test(text));
  const [, union = ""] = declaration.exec(source?.text ?? "") ?? [];
  return [...union.matchAll(/"([^"]+)"/g)].map(([, member = ""]) => member);
}

/** Names like codes: some of Node that are conditions in the sources, which no user meets, and an environment variable. */
const NO_CODES = new Set([
  "ERR_ACCESS_DENIED",
  "ERR_BUFFER_TOO_LARGE",
  "ERR_DLOPEN_FAILED",
  "ERR_HTTP_REQUEST_TIMEOUT",
  "ERR_MODULE_NOT_FOUND",
  "COUNTERSIGN_STORE",
]);

describe("every code has a page: a code that is added without one fails here", () => {
  it("for errors and warnings of all packages", () => {
    const missing = withoutPage(/["'`.\s]((?:ERR|COUNTERSIGN)_[A-Z0-9_]*[A-Z0-9])(?=["'`:,\s])/g);
    expect(missing.filter((one) => !NO_CODES.has(one.split(" ")[0] ?? ""))).toEqual([]);
    expect(SOURCES.length).toBeGreaterThan(150);
  });

  it("for answers of the server", async () => {
    expect(withoutPage(/\bcode: "([a-z_]+)"/g, /^server.src.(?:ingest|app)/)).toEqual([]);
    expect(known).toContain("headers_too_large");
    await using server = await createServer({ to: "http://127.0.0.1:9/", port: 0 });
    const document = await (await fetch(`${server.url}/v1/openapi.json`)).text();
    const lists = [...document.matchAll(/"code":\{"type":"string","enum":(\[[^\]]+\])/g)];
    const described = new Set(lists.flatMap(([, codes = ""]) => JSON.parse(codes) as readonly string[]));
    expect(described).toContain("method_not_allowed");
    expect([...described].filter((code) => !known.has(code))).toEqual([]);
  });

  it("for reasons of rejections, and codes of attempts", () => {
    const wanted = [...Object.keys(REJECTION_REASONS), ...Object.keys(NO_ANSWER_CODES)];
    expect(wanted.filter((code) => !known.has(code))).toEqual([]);
  });

  it.each([
    ["AttemptOutcome", "sender"],
    ["SkipReason", "sender"],
    ["DiagnosisCode", "core"],
    ["RejectionReason", "client"],
    ["DropReason", "client"],
  ])("for each member of %s of %s", (name, package_) => {
    const members = unionOf(name, package_);
    expect(members.length).toBeGreaterThan(2);
    expect(members.filter((code) => !known.has(code))).toEqual([]);
  });
});

describe("a page", () => {
  it.each(ALL)("of %s has a cause, a fix and an example", (_code, { cause, fix, example }) => {
    for (const text of [cause, fix, example]) expect(text.trim()).not.toBe("");
    for (const sentence of [cause, fix]) expect(sentence).toMatch(/[.?]$/);
  });

  it("is the only one of its code", () => {
    expect(ALL.length).toBe(known.size);
    const lowerCase = ALL.map(([code]) => code.toLowerCase());
    expect(new Set(lowerCase).size).toBe(lowerCase.length);
  });

  it("names audits and codes that exist", () => {
    const examples = ALL.map(([, { example }]) => example).join("\n");
    const only = [...examples.matchAll(/--only (\S+)/g)].map(([, id]) => id);
    expect(only.length).toBeGreaterThan(0);
    const ids = new Set(audits.map(({ id }) => id));
    expect(only.filter((id) => !ids.has(id ?? ""))).toEqual([]);
    const explained = [...examples.matchAll(/countersign explain ([A-Z_]+)/g)].map(([, code = ""]) => code);
    expect(explained.length).toBeGreaterThan(0);
    expect(explained.filter((code) => findCode(code) === undefined)).toEqual([]);
  });

  it("of ERR_STORE_UNKNOWN has an example that delivers a call once, also when it was stored before", async () => {
    const sender = await createSender({ url: "http://127.0.0.1:9/", deliver: false });
    const timestamp = new Date().toISOString();
    const call = { type: "track", userId: "u1", event: "Order Completed", timestamp } as const;
    const calls = [{ ...call, messageId: "m1", key: "track m1" }];
    const run = runInNewContext(
      `async (sender, calls) => { ${findCode("ERR_STORE_UNKNOWN")?.example}\n}`,
    ) as (...names: readonly unknown[]) => Promise<void>;
    try {
      await run(sender, calls);
      await run(sender, calls);
      expect(await sender.deliveries({})).toHaveLength(1);
    } finally {
      await sender.close();
    }
  });

  it("names commands and options that exist", async () => {
    const examples = ALL.flatMap(([, { example }]) => example.split("\n"));
    const commands = examples.flatMap(
      (line) => /countersign ([a-z]+)(?:\s|$)(.*)/.exec(line.split("   #")[0] ?? "") ?? [],
    );
    const used = new Map<string, Set<string>>();
    for (let at = 0; at < commands.length; at += 3) {
      const [, name = "", rest = ""] = commands.slice(at, at + 3);
      const options = used.get(name) ?? used.set(name, new Set()).get(name);
      for (const [option] of rest.matchAll(/--[a-z-]+/g)) options?.add(option);
    }
    expect(used.size).toBeGreaterThan(3);
    for (const [name, options] of used) {
      const { stdout, code } = await runHere([name, "--help"]);
      expect(code).toBe(0);
      for (const option of options) expect(stdout).toContain(`${option} `);
    }
  }, 120_000);
});

describe("an example that starts a server", () => {
  const commands = ALL.flatMap(([code, { example }]) =>
    example.split("\n").flatMap((line) => {
      const [, args] = /^countersign serve (.+?)(?: {3}#.*)?$/.exec(line) ?? [];
      return args === undefined ? [] : [[code, args] as const];
    }),
  );

  it("is there", () => expect(commands.length).toBeGreaterThan(5));

  it.each(commands)("of %s does so: %s", async (_code, args) => {
    const cwd = temporaryDirectory();
    const serve = startCommand(["serve", ...args.split(" "), "--port", "0"], { cwd });
    expect(await serve.printed(/listens on http/)).not.toBeNull();
  });
});

describe("countersign explain", () => {
  it.each([
    ["ERR_SIGNATURE_MISMATCH", "ERR_SIGNATURE_MISMATCH"],
    ["signature_mismatch", "ERR_SIGNATURE_MISMATCH"],
    ["econnrefused", "ECONNREFUSED"],
    ["no_write_key", "no_write_key"],
    ["CERT_HAS_EXPIRED", "CERT_HAS_EXPIRED"],
  ])("explains %s", async (text, code) => {
    const { stdout, stderr, code: exit } = await runHere(["explain", text]);
    const page = findCode(code);
    expect([exit, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`${code}, ${page?.where}`);
    expect(stdout).toContain(`Cause    ${page?.cause}`);
    expect(stdout).toContain(`Fix      ${page?.fix}`);
    expect(stdout).toContain("Example  ");
  });

  // OpenSSL has a reason for each alert, and newer versions have more of them than any list.
  it.each([
    ["err_ssl_tlsv1_alert_decode_error", "EPROTO"],
    ["ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE", "ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE"],
    ["HPE_INVALID_CONSTANT", "ERR_HTTP_PARSER"],
  ])("explains %s of an attempt, which has no page of its own, as %s", async (text, alike) => {
    const { stdout, code } = await runHere(["explain", text]);
    const page = findCode(alike);
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining(`${text.toUpperCase()}, ${page?.where}\n\nCause    ${page?.cause}`),
    ]);
  });

  it("explains the status of a receiver in the words of the terminal", async () => {
    const { stdout, code } = await runHere(["explain", "404"]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("No route handles this path.")]);
    // What to do is part of its cause.
    expect(stdout).not.toContain("Fix ");
  });

  it("says of no interim status that the receiver has the message", async () => {
    const { stderr, code } = await runHere(["explain", "101"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('No code is called "101".')]);
  });

  it("says what was probably meant, and exits 2", async () => {
    const { stdout, stderr, code } = await runHere(["explain", "ECONREFUSED"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain('No code is called "ECONREFUSED". Did you mean ECONNREFUSED?');
  });

  it("lists every code", async () => {
    const { stdout } = await runHere(["explain"]);
    for (const code of known) expect(stdout).toContain(`\n  ${code}\n`);
    const { stdout: json } = await runHere(["explain", "--json"]);
    const codes = json
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { code: string }).code);
    expect(codes).toEqual(ALL.map(([code]) => code));
  });
});
