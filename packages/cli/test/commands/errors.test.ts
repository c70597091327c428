import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCommand, startCommand, startServe, type CommandOptions } from "../support/command.ts";
import { runHere } from "../support/run-here.ts";
import { startSilentReceiver } from "../support/silent-receiver.ts";
import { isWindows, noPosix } from "../../../core/test/support/windows.ts";
import { portOf, SECRET, startReceiver } from "../../../server/test/support/receiver.ts";
import { bin, commandFolder } from "../../../../tests/support/command.ts";
import { asData, resolvingBy } from "../../../../tests/support/resolve-otherwise.ts";
import { cleanUp, closing, temporaryDirectory } from "../../../../tests/support/resources.ts";

const TO = "http://127.0.0.1:9/webhooks";

const manifest = JSON.parse(readFileSync(join(commandFolder, "package.json"), "utf8")) as {
  readonly engines: { readonly node: string };
};
const engines = manifest.engines.node;

const UNKNOWN_OWNER = /^countersign: This system cannot tell who may write .*\n/;

/** One line, on standard error, and exit code 2. */
/** @param run `runCommand` where a process of its own matters: what it holds, reads, loads or waits for. */
async function expectUsageError(
  args: readonly string[],
  message: string | RegExp,
  options: CommandOptions = {},
  run = runHere,
): Promise<void> {
  const ended = await run(args, { cwd: temporaryDirectory(), ...options });
  const { code, stdout } = ended;
  // A config file that was found has a warning before it.
  const stderr = isWindows ? ended.stderr.replace(UNKNOWN_OWNER, "") : ended.stderr;
  expect(stderr.split("\n")).toHaveLength(2);
  if (typeof message === "string") expect(stderr).toBe(`countersign: ${message}\n`);
  else expect(stderr).toMatch(message);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
}

const OLD_CRYPTO = asData('export { createHmac, createSecretKey, timingSafeEqual } from "crypto"');

/** Starts as on this version of Node, whose `node:crypto` has no `hash`. */
function onNode(version: string): { readonly env: { readonly NODE_OPTIONS: string } } {
  const resolve = `(name, context, next) =>
    name === "node:crypto" ? { url: ${JSON.stringify(OLD_CRYPTO)}, shortCircuit: true } : next(name, context)`;
  const started = `
    Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } });
    ${resolvingBy(resolve)}`;
  return { env: { NODE_OPTIONS: `--import=${asData(started)}` } };
}

describe("the versions of Node in `engines` are those that the command needs", () => {
  const SEND = ["send", "track", "--to", TO, "--secret", "s"];
  const [until = "", since = ""] = engines.split(" || ");
  const [, line, minor] = /^\^(\d+)\.(\d+)$/.exec(until)?.map(Number) ?? [];
  const [, laterLine, laterMinor] = /^>=(\d+)\.(\d+)$/.exec(since)?.map(Number) ?? [];
  if (!line || !minor || !laterLine || !laterMinor) throw new Error(`This test cannot read ${engines}.`);

  it.each([
    "18.20.8",
    `${line - 1}.99.0`,
    `${line}.0.0`,
    `${line}.${minor - 1}.9`,
    `${line + 1}.99.0`,
    `${laterLine}.0.0`,
    `${laterLine}.${laterMinor - 1}.9`,
  ])("an older one, %s, is told as such, and no report is asked for", async (version) => {
    await expectUsageError(
      SEND,
      `This is Node ${version}, and the command needs ${line}.${minor}, ${laterLine}.${laterMinor} or later. Install a newer one.`,
      onNode(version),
      runCommand,
    );
  });

  it.each([
    `${line}.${minor}.0`,
    `${line}.99.0`,
    `${laterLine}.${laterMinor}.0`,
    `${laterLine + 1}.0.0`,
    "100.0.0",
  ])("%s is not blamed for a fault of the command", async (version) => {
    const { code, stderr } = await runCommand(SEND, { cwd: temporaryDirectory(), ...onNode(version) });

    expect(stderr).toContain("This should not happen, please report it");
    expect(code).toBe(1);
  });
});

describe("in a process of its own, a command prints the same as here, and ends with the same code", () => {
  it.each([
    ["--help"],
    ["sned"],
    ["serve", "--prot", "1"],
    ["serve", "--config", "none.json"],
    ["send", "track", "--to", TO, "--set", "plan"],
    ["verify", "--secret", "s", "--signature", "x", "none.json"],
    ["certify", TO, "--secret", "s", "--only", "none"],
    ["explain", "ERR_TIMEOUT"],
  ])("%s", async (...args) => {
    const cwd = temporaryDirectory();
    expect(await runCommand(args, { cwd })).toEqual(await runHere(args, { cwd }));
  });
});

describe("arguments", () => {
  it.each<[string, string[], string]>([
    [
      "an unknown command",
      ["sned"],
      "unknown command 'sned' (Did you mean send?) See countersign --help for the options and an example.",
    ],
    [
      "help about an unknown command",
      ["help", "sned"],
      "unknown command 'sned' (Did you mean send?) See countersign --help for the options and an example.",
    ],
    [
      "an unknown option",
      ["serve", "--prot", "1"],
      "unknown option '--prot' (Did you mean --port?) See countersign serve --help for the options and an example.",
    ],
    [
      "an option of another tool",
      ["serve", "--shared-secret", "1"],
      "unknown option '--shared-secret'. It is called --secret here. See countersign serve --help for the options and an example.",
    ],
    [
      "an unknown type",
      ["send", "tarck", "--to", TO],
      "command-argument value 'tarck' is invalid for argument 'type'. Allowed choices are track, page, screen, identify, alias, group, delete. See countersign send --help for the options and an example.",
    ],
    [
      "no type",
      ["send", "--to", TO],
      "missing required argument 'type'. See countersign send --help for the options and an example.",
    ],
    [
      "a number of messages at once, of one",
      ["send", "track", "--to", TO, "--concurrency", "4"],
      "--concurrency is for the messages of --file. Without it, one message is sent.",
    ],
    [
      "no receiver",
      ["send", "track"],
      "required option '--to <url>' not specified. See countersign send --help for the options and an example.",
    ],
    [
      "a misspelt option in place of a required one",
      ["send", "track", "--too", TO],
      "unknown option '--too' (Did you mean --to?), and required option '--to <url>' not specified. See countersign send --help for the options and an example.",
    ],
    [
      "a receiver that is no URL",
      ["send", "track", "--to", "localhost:3000"],
      "option '--to <url>' argument 'localhost:3000' is invalid. Pass a full URL, such as http://localhost:3000/webhooks. See countersign send --help for the options and an example.",
    ],
    [
      "a receiver that is not HTTP",
      ["certify", "ftp://x/", "--secret", "s"],
      "command-argument value 'ftp://x/' is invalid for argument 'url'. Pass a full URL, such as http://localhost:3000/webhooks. See countersign certify --help for the options and an example.",
    ],
    [
      "an empty secret",
      ["send", "track", "--to", TO, "--secret", ""],
      "option '--secret <secret>' argument '' is invalid. It is empty. Pass the secret of the receiver, or leave the option out. See countersign send --help for the options and an example.",
    ],
    [
      "a blank secret",
      ["certify", TO, "--secret", " "],
      "option '--secret <secret>' argument ' ' is invalid. It is empty. Pass the secret of the receiver, or leave the option out. See countersign certify --help for the options and an example.",
    ],
    [
      "an empty token",
      ["serve", "--to", TO, "--token", ""],
      "option '--token <token>' argument '' is invalid. It is empty. Pass a long random token, or leave the option out. See countersign serve --help for the options and an example.",
    ],
    [
      "an empty write key",
      ["serve", "--to", TO, "--write-key", ""],
      "option '--write-key <key>' argument '' is invalid. It is empty. Pass the write key of the source, or leave the option out. See countersign serve --help for the options and an example.",
    ],
    [
      "a server without a scheme",
      ["import", "calls.jsonl", "--server", "127.0.0.1:4010"],
      "option '--server <url>' argument '127.0.0.1:4010' is invalid. Pass a full URL, such as http://127.0.0.1:4010. See countersign import --help for the options and an example.",
    ],
    ...(process.platform === "linux"
      ? [["--port", "0"], ["--tls-self-signed"]].map((flags): [string, string[], string] => [
          `a data directory that cannot be made, with ${flags.join(" ")}`,
          ["serve", "--to", TO, "--data", "/proc/nowhere/deep", ...flags],
          "The data directory /proc/nowhere/deep cannot be created: ENOENT: no such file or directory, mkdir '/proc/nowhere'. Give --data another one.",
        ])
      : []),
    [
      "no secret to certify with",
      ["certify", TO],
      "required option '--secret <secret>' not specified. See countersign certify --help for the options and an example.",
    ],
    [
      "no signature to verify",
      ["verify", "--secret", "s"],
      "required option '--signature <value>' not specified. See countersign verify --help for the options and an example.",
    ],
    [
      "too many arguments",
      ["replay", "a", "b", "--to", TO],
      "too many arguments for 'replay'. Expected 1 argument but got 2. Put a value with spaces in double quotes. See countersign replay --help for the options and an example.",
    ],
    [
      "a port out of range",
      ["serve", "--to", TO, "--port", "65536"],
      "option '--port <number>' argument '65536' is invalid. Pass a port from 0 to 65535; 0 means any free port. See countersign serve --help for the options and an example.",
    ],
    [
      "a size that the server refuses too",
      ["serve", "--to", TO, "--max-bytes", "1048575"],
      "option '--max-bytes <size>' argument '1048575' is invalid. Pass a size of 1048576 bytes or more, such as 500MB or 20GB. See countersign serve --help for the options and an example.",
    ],
    [
      "but not the smallest that it takes: the port is wrong here",
      ["serve", "--to", TO, "--max-bytes", "1048576", "--port", "x"],
      "option '--port <number>' argument 'x' is invalid. Pass a port from 0 to 65535; 0 means any free port. See countersign serve --help for the options and an example.",
    ],
    [
      "a count of nothing",
      ["serve", "--to", TO, "--max-connections", "0"],
      "option '--max-connections <number>' argument '0' is invalid. Pass a whole number, 1 or more. See countersign serve --help for the options and an example.",
    ],
    [
      "a drain without a number",
      ["serve", "--to", TO, "--drain", "soon"],
      "option '--drain <seconds>' argument 'soon' is invalid. Pass a number of seconds up to 86400, such as 10. See countersign serve --help for the options and an example.",
    ],
    [
      "a drain of more than a day",
      ["serve", "--to", TO, "--drain", "86401"],
      "option '--drain <seconds>' argument '86401' is invalid. Pass a number of seconds up to 86400, such as 10. See countersign serve --help for the options and an example.",
    ],
  ])("%s", async (_title, args, message) => {
    await expectUsageError(args, message);
  });
});

// Node takes an empty address for every address of the machine, and CI sets variables that nobody has filled to empty texts.
it.each([["listen"], ["serve", "--to", TO, "--token", "t"]])(
  "%s does not take an empty COUNTERSIGN_HOST for every address",
  async (...args) => {
    const message =
      /^countersign: option '--host <address>' value '' from env 'COUNTERSIGN_HOST' is invalid\. It is empty\. Pass an address such as 127\.0\.0\.1, or leave the option out\./;
    await expectUsageError([...args, "--port", "0"], message, { env: { COUNTERSIGN_HOST: "" } });
  },
);

it.each([
  ["COUNTERSIGN_PROXY", ["send", "track", "--to", TO]],
  ["COUNTERSIGN_PROXY", ["serve", "--to", TO]],
  ["COUNTERSIGN_STORE", ["work"]],
])("an empty %s is refused as such, and not as a wrong URL", async (name, args) => {
  const message = new RegExp(`value '' from env '${name}' is invalid\\. It is empty\\. Pass the URL of`);
  await expectUsageError(args, message, { env: { [name]: "" } });
});

it.each([
  ["--ca", ["send", "track", "--to", TO]],
  ["--file", ["send", "--to", TO]],
  ["--config", ["serve"]],
  ["--tls-cert", ["serve", "--to", TO]],
  ["--record", ["serve", "--to", TO]],
  ["--record", ["listen"]],
  ["--junit", ["certify", TO, "--secret", "s"]],
])("an empty %s is refused as such, and not as a directory", async (option, args) => {
  const message = new RegExp(
    `option '${option} <file>' argument '' is invalid\\. It is empty\\. Pass a file`,
  );
  await expectUsageError([...args, option, ""], message);
});

it("an empty COUNTERSIGN_DATA is refused as such, not as a directory that cannot be created", async () => {
  const message =
    /^countersign: option '--data <dir>' value '' from env 'COUNTERSIGN_DATA' is invalid\. It is empty\. Pass a directory, or leave the option out\./;
  await expectUsageError(["serve", "--to", TO, "--port", "0"], message, { env: { COUNTERSIGN_DATA: "" } });
});

it("a line break after COUNTERSIGN_DATA is no part of the directory, which would be beside the volume", async () => {
  const cwd = temporaryDirectory();
  const env = { COUNTERSIGN_DATA: `${join(cwd, "data")}\n` };
  const message =
    /^countersign: `data`, or --data, has a line break or another control character in it: ".*data\\n"\. Remove it\.$/m;
  await expectUsageError(["serve", "--to", TO, "--port", "0"], message, { env });
  expect(readdirSync(cwd)).toEqual([]);
});

it.each(["file:///srv/data", "postgres://user:pa55word@127.0.0.1/app"])(
  "a directory that is a URL is refused, makes no folders, and shows no password: %s",
  async (url) => {
    const cwd = temporaryDirectory();
    const message =
      "`data`, or --data, is a URL. Give the path of a directory, without file:. For a PostgreSQL database, use `store`, or --store.";
    await expectUsageError(["serve", "--to", TO, "--port", "0", "--data", url], message, { cwd });
    expect(readdirSync(cwd)).toEqual([]);
  },
);

it("a directory whose name is not UTF-8 is refused, since Node reads another name and keeps it all there", async () => {
  const cwd = temporaryDirectory();
  const message =
    /^countersign: `data`, or --data, leads to a name that is not UTF-8: .*\. Node cannot open that: rename the directory, or use another one\.$/m;
  await expectUsageError(["serve", "--to", TO, "--port", "0", "--data", "da\u{fffd}ta"], message, { cwd });
  expect(readdirSync(cwd)).toEqual([]);
});

it.skipIf(isWindows)(`a directory with a colon in its name is not taken for a URL${noPosix}`, async () => {
  const cwd = temporaryDirectory();
  const { url } = await startServe(["--to", TO, "--data", "shop:1"], { cwd });
  expect(url).toMatch(/^http:/u);
  expect(readdirSync(join(cwd, "shop:1"))).toContain("deliveries.db");
});

describe("what is given with an option that does not exist is not repeated", () => {
  it.each<[string, string[], string]>([
    ["of another command", ["import", "calls.jsonl", "--secret=pa55word"], "unknown option '--secret'"],
    [
      "misspelt",
      ["send", "track", "--to", TO, "--secrett=pa55word"],
      "unknown option '--secrett' (Did you mean --secret?)",
    ],
    [
      "with one dash",
      ["verify", "--signature", "x", "-secret=pa55word", "--secret", "s"],
      "unknown option '-secret' (Did you mean --secret?)",
    ],
  ])("%s", async (_title, args, message) => {
    const { code, stderr } = await runHere(args);
    expect(stderr).toContain(message);
    expect([code, stderr.includes("pa55word")]).toEqual([2, false]);
  });
});

describe("a password in a URL is not repeated", () => {
  const WITH_PASSWORD = "http://user:pa55word@127.0.0.1:9/webhooks";

  it.each([
    ["serve", ["serve", "--to", WITH_PASSWORD]],
    ["send", ["send", "track", "--to", WITH_PASSWORD]],
    ["certify", ["certify", WITH_PASSWORD, "--secret", "s"]],
    ["replay", ["replay", "traffic.jsonl", "--to", WITH_PASSWORD]],
    ["listen", ["listen", "--forward", WITH_PASSWORD]],
    ["import", ["import", "calls.jsonl", "--server", WITH_PASSWORD]],
  ])("%s says how to send it", async (_name, args) => {
    await expectUsageError(
      args,
      "The URL contains a user name or a password. Leave them out, and pass them with --header 'Authorization: ...'.",
    );
  });

  it.each([
    ["another database", "mysql://user:pa55word@127.0.0.1/db", /is not the URL of a PostgreSQL database/],
    [
      "a slash in it",
      "postgres://user:pa55word/x@127.0.0.1/db",
      /cannot be read: Invalid URL.*percent codes/,
    ],
    ["an @ and a slash in it", "postgres://user:p@pa55word/x@127.0.0.1/db", /after the host.*percent codes/],
    ["an @ and a # in it", "postgres://user:p@pa55word#x@127.0.0.1/db", /after the host.*percent codes/],
  ])("%s", async (_title, url, message) => {
    for (const [args, env] of [
      [["work", "--store", url], {}],
      [["work"], { COUNTERSIGN_STORE: url }],
    ] as const) {
      const { code, stdout, stderr } = await runHere(args, { env });
      expect([code, stdout, stderr.split("\n").length]).toEqual([2, "", 2]);
      expect(stderr).toMatch(message);
      expect(stderr).not.toContain("pa55word");
    }
  });
});

describe("an option that other tools have", () => {
  it.each([
    ["serve", "--url", "--to"],
    ["serve", "--endpoint=http://127.0.0.1:9/", "--to"],
    ["serve", "--database", "--data"],
    ["serve", "--retention", "--keep-for"],
    ["serve", "--hostname", "--host"],
    ["serve", "--api-key", "--token"],
    ["send", "--url", "--to"],
    ["send", "--signing-secret", "--secret"],
    ["certify", "--shared-secret", "--secret"],
    ["replay", "--target", "--to"],
    ["listen", "--webhook-secret", "--secret"],
    ["import", "--api-key", "--write-key"],
  ])("%s %s is told its name here", async (name, option, here) => {
    const given = option.replace(/=.*/, "");
    const value = option === given ? ["x"] : [];
    await expectUsageError(
      [name, option, ...value],
      `unknown option '${given}'. It is called ${here} here. See countersign ${name} --help for the options and an example.`,
    );
  });

  it("is not guessed where nothing like it is there", async () => {
    await expectUsageError(
      ["send", "track", "--timeout", "5"],
      "unknown option '--timeout', and required option '--to <url>' not specified. See countersign send --help for the options and an example.",
    );
  });
});

// Of three commands one said success, one that the check had failed, and one this.
it.each([
  ["send", ["--to", TO, "--file"], " has no messages. Write one JSON object on each line."],
  ["replay", ["--to", TO], " has no messages. Record some with countersign serve --record none.jsonl"],
  ["import", [], " has no calls. Write one call on each line."],
])("%s refuses a file that has nothing in it", async (name, flags, message) => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, "none.jsonl"), "\n");
  const pattern = new RegExp(`^countersign: .*none\\.jsonl${message.replaceAll(".", "\\.")}$`, "mu");
  await expectUsageError([name, ...flags, "none.jsonl"], pattern, { cwd }, runCommand);
  expect(existsSync(join(cwd, "none.jsonl.progress"))).toBe(false);
});

describe("serve", () => {
  it("with nowhere to forward to", async () => {
    await expectUsageError(
      ["serve"],
      "No destination is configured. Pass --to URL, for example --to http://localhost:3000/webhooks, or give `to` or `sources` in a countersign.config.json.",
      {},
      runCommand,
    );
  });

  it("on a URL, without asking for a token", async () => {
    await expectUsageError(
      ["serve", "--to", TO, "--host", "http://0.0.0.0"],
      '`host`, or --host, has "http://0.0.0.0". Give an address or a name, such as 127.0.0.1, without http://, a port or a path.',
    );
  });

  it("with six URLs", async () => {
    const urls = Array.from({ length: 6 }, (_, n) => ["--to", `http://127.0.0.1:${n + 1}/`]).flat();
    await expectUsageError(["serve", ...urls], /has 6 endpoints; a destination may have 5\.$/m);
  });

  it("on a network without a token", async () => {
    await expectUsageError(
      ["serve", "--to", TO, "--host", "0.0.0.0"],
      "Listening on 0.0.0.0 gives others on the network access, so it needs a token. Pass one with --token, or listen on 127.0.0.1.",
    );
  });

  it("on a port that is in use", async () => {
    const other = createServer();
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    cleanUp(() => other.close());
    await expectUsageError(
      ["serve", "--to", TO, "--port", String(portOf(other))],
      `Port ${portOf(other)} on 127.0.0.1 is already in use. Stop the process that listens there, or choose another port with --port.`,
      {},
      runCommand,
    );
  });

  it("on an address of another machine", async () => {
    await expectUsageError(
      ["serve", "--to", TO, "--host", "203.0.113.1", "--token", "t"],
      /^countersign: Cannot listen on 203\.0\.113\.1 port 4010: .*EADDRNOTAVAIL.*\. Choose another address with --host and --port\.$/m,
    );
  });

  it("with a data directory that another server has open", async () => {
    const data = temporaryDirectory();
    await startServe(["--to", TO, "--data", data]);
    await expectUsageError(
      ["serve", "--to", TO, "--port", "0", "--data", data],
      `The data directory ${data} is in use by another countersign serve. Stop that one, or pass another directory with --data.`,
      {},
      runCommand,
    );
  });

  it("with a data directory that is a file", async () => {
    const file = join(temporaryDirectory(), "file");
    writeFileSync(file, "");
    await expectUsageError(
      ["serve", "--to", TO, "--port", "0", "--data", file],
      /^countersign: The data directory .*file cannot be created: EEXIST.*\. Give --data another one\.$/m,
    );
  });

  it("with a data directory that holds something else", async () => {
    const data = temporaryDirectory();
    writeFileSync(join(data, "server.db"), "This is no database, and long enough to be told so. ".repeat(50));
    await expectUsageError(
      ["serve", "--to", TO, "--port", "0", "--data", data],
      /^countersign: .*server\.db cannot be used: .*\. Move it away, or use another data directory\.$/m,
    );
  });

  it("with a data directory where the file of rejected messages cannot be opened, which is not to be moved away", async () => {
    const data = temporaryDirectory();
    mkdirSync(join(data, "server.db-wal"));
    await expectUsageError(
      ["serve", "--to", TO, "--port", "0", "--data", data],
      /^countersign: .*server\.db cannot be used: .*\. Make room, or correct its permissions, or use another data directory\.$/m,
    );
  });

  it("recording into a file that cannot be written", async () => {
    await expectUsageError(
      ["serve", "--to", TO, "--port", "0", "--record", "/"],
      /^countersign: Cannot record into \/: EISDIR.*\. Give --record a file that can be written\.$/m,
    );
  });
});

describe("the config file", () => {
  async function expectConfigError(name: string, content: string, message: RegExp): Promise<void> {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, name), content);
    await expectUsageError(["serve", "--port", "0"], message, { cwd });
  }

  it("that is not there", async () => {
    await expectUsageError(
      ["serve", "--config", "none.json"],
      /^countersign: Cannot read the config file none\.json: ENOENT.*\. Give --config a file that can be read\.$/m,
    );
  });

  it("that is not JSON", () =>
    expectConfigError(
      "countersign.config.json",
      "{",
      /The config file .*countersign\.config\.json is not JSON: .*\. Correct it, or pass another file with --config\.$/m,
    ));

  it("that does not parse, with the line and the column", () =>
    expectConfigError(
      "countersign.config.ts",
      "export default {\n  port: 4020\n  data: 'kept'\n};",
      /The config file .*countersign\.config\.ts cannot be run: \S.* at .*countersign\.config\.ts:3:\d+\. Correct it, or/,
    ));

  it("that throws", () =>
    expectConfigError(
      "countersign.config.js",
      "throw new Error('no vault')",
      /countersign\.config\.js cannot be run: no vault\. Correct it, or pass another file with --config\.$/m,
    ));

  it("that never comes to its end", async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, "config.mjs"), "await new Promise(() => {}); export default {};");
    await expectUsageError(
      ["serve", "--config", "config.mjs"],
      "The command ended without a result. Does an `await` in the config file never finish?",
      { cwd },
      runCommand,
    );
  });

  it("that exports nothing", () =>
    expectConfigError(
      "countersign.config.ts",
      "export const a = 1",
      /countersign\.config\.ts exports a, and no default\. Write `export default` before its settings/,
    ));

  it("with an unknown setting", () =>
    expectConfigError(
      "countersign.config.json",
      '{"too":"x"}',
      /has the unknown setting "too"; did you mean "to"\? Correct it,/,
    ));

  it("with a setting of the wrong kind", () =>
    expectConfigError(
      "countersign.config.json",
      '{"to":"http://x/","port":"80"}',
      /has a `port` that is not a number\. Correct it, or pass another file with --config\.$/m,
    ));

  it.each([
    [
      '{"to":"http://x/","retry":{"windowMs":-1}}',
      /retry: \{ windowMs \} \}\) must be a number, at least 0\.$/m,
    ],
    [
      '{"to":"http://x/","maxConnections":0}',
      /`maxConnections` must be a whole number, 1 or more, not 0\.$/m,
    ],
    ['{"to":"http://x/","data":""}', /has an empty `data`; leave it out, or give it a value\. Correct it/],
    ['{"to":"http://x/","allowHosts":[1]}', /has a `allowHosts` that is not a list of strings\./],
  ])("with a value that makes no sense: %s", (config, message) =>
    expectConfigError("countersign.config.json", config, message),
  );

  it("with a wrong source names source, endpoint and field", () =>
    expectConfigError(
      "countersign.config.json",
      '{"sources":[{"name":"shop","destinations":[{"endpoints":[{"url":"localhost:3000"}]}]}]}',
      /source "shop", destination "webhooks", endpoint 1: sources\[0\]\.destinations\[0\]\.endpoints\[0\]\.url must start with http/,
    ));

  it.each([
    "{ to: 'http://x/', secret: process.env.NOT_SET }",
    "{ sources: [{ name: 'default', destinations: [{ endpoints: [{ url: 'http://x/' }], secret: process.env.NOT_SET }] }] }",
  ])("with a secret from a variable that is not set, instead of sending unsigned: %s", (config) =>
    expectConfigError(
      "countersign.config.mjs",
      `export default ${config};`,
      /source "default", destination "webhooks": sources\[0\]\.destinations\[0\]\.secret is undefined: set the variable/,
    ),
  );

  it.each(["token", "writeKey"])(
    "with a %s from a variable that is not set, instead of letting everybody in",
    (name) =>
      expectConfigError(
        "countersign.config.mjs",
        `export default { to: "http://x/", ${name}: process.env.NOT_SET };`,
        new RegExp(
          `has a \`${name}\` that is undefined: set the variable that it comes from, or leave it out\\.`,
        ),
      ),
  );

  it("with both `to` and `sources`", () =>
    expectConfigError(
      "countersign.config.json",
      '{"to":"http://x/","sources":[]}',
      /Give either `sources` or `to`/,
    ));

  it("with sources, where --secret is given besides them: it would be the secret of none", async () => {
    const cwd = temporaryDirectory();
    const sources = [{ name: "shop", destinations: [{ endpoints: [{ url: "http://x/" }] }] }];
    writeFileSync(join(cwd, "countersign.config.json"), JSON.stringify({ sources }));
    const command = startCommand(["serve", "--port", "0", "--secret", "given"], { cwd });
    await command.printed(/listens on|Give either `sources` or `to` with its options, not both\./);
    expect(command.stdout()).toBe("");
    expect(await command.ended).toBe(2);
  });
});

describe("send", () => {
  it("that the call itself keeps from every receiver", () =>
    expectUsageError(
      ["send", "track", "--to", TO, "--set", "integrations.All=false"],
      "The `integrations` of this call turn webhooks off, so that it goes to no receiver. Leave them out, or set integrations.Webhooks=true",
    ));

  it.each<[string, string[], string]>([
    [
      "an assignment without =",
      ["--set", "plan"],
      "`plan` is not PATH=VALUE. Write for example: --set userId=u1",
    ],
    [
      "an unknown field",
      ["--set", "proprties.plan=pro"],
      "A track call has no field `proprties`. Its fields are userId, anonymousId, integrations, context, timestamp, messageId, event, properties.",
    ],
    [
      "a path through a value",
      ["--set", "event.name=x"],
      "`event.name` leads through `event`, which is not an object.",
    ],
    [
      "a field of the wrong kind",
      ["--set", "userId=[]"],
      "'userId' must be a string, not an array. Correct it with --set, for example --set userId=VALUE",
    ],
    [
      "a field without a value",
      ["--set", "event="],
      "You must pass 'event'. Correct it with --set, for example --set event=VALUE",
    ],
  ])("%s", async (_title, args, message) => {
    const { code, stderr } = await runHere(["send", "track", "--to", TO, ...args]);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  it("to a receiver that is not there", async () => {
    const url = "http://127.0.0.1:9/";
    const { code, stdout, stderr } = await runCommand(["send", "track", "--to", url]);
    expect(stderr).toBe(
      "countersign: Is the receiver running at 127.0.0.1:9? Start the receiver, or correct the URL. In a container, localhost is the container itself.\n",
    );
    expect(stdout).toMatch(/^not delivered: track to \S+: refused the connection, after [\d.]+ m?s$/m);
    expect(code).toBe(1);
  });

  it.each([
    [
      401,
      "The receiver did not accept the signature. Compare its secret with the one that signs here: a space, a quote or a line break makes them differ.",
    ],
    [404, "No route handles this path. Correct the path of the URL, or mount the receiver there."],
    [
      419,
      "The receiver's framework wants a CSRF token. Exempt the path of the webhooks: tokens are for browsers.",
    ],
    [
      422,
      "The receiver rejects a field of the message, and its answer says which; or its framework wants a CSRF token, as Rails does: exempt the path of the webhooks.",
    ],
    [500, "The receiver's handler failed. Its log says why."],
  ])("to a receiver that answers %i", async (status, advice) => {
    const receiver = closing(await startReceiver());
    receiver.answers.push(status);
    const { code, stderr } = await runHere(["send", "page", "--to", receiver.url, "--secret", SECRET]);
    expect([code, stderr]).toEqual([1, `countersign: ${advice}\n`]);
  });
});

it("send without a secret, to a receiver that wants a signature, does not say that one was refused", async () => {
  const receiver = closing(await startReceiver());
  const { code, stderr } = await runHere(["send", "page", "--to", receiver.url]);
  expect([code, stderr]).toEqual([
    1,
    "countersign: The message was sent without a signature. Pass the secret of the receiver with --secret, or as the secret of the destination.\n",
  ]);
});

describe("verify", () => {
  it("of a file that is not there", async () => {
    await expectUsageError(
      ["verify", "--secret", "s", "--signature", "x", "none.json"],
      /^countersign: Cannot read none\.json: ENOENT.*\. Give the file with the body, or - for standard input\.$/m,
    );
  });
});

describe("replay", () => {
  it("of a directory", async () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, "traffic"));
    await expectUsageError(
      ["replay", "traffic", "--to", TO],
      /^countersign: Cannot read traffic: EISDIR.* Give a file that countersign serve --record or countersign listen --record has written\.$/m,
      { cwd },
      runCommand,
    );
  });

  async function expectRecordingError(content: string, message: RegExp): Promise<void> {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, "traffic.jsonl"), content);
    await expectUsageError(["replay", "traffic.jsonl", "--to", TO], message, { cwd }, runCommand);
  }

  it("of a file that is not there", async () => {
    await expectUsageError(
      ["replay", "none.jsonl", "--to", TO],
      /^countersign: Cannot read none\.jsonl: ENOENT.*\. Give a file that countersign serve --record or countersign listen --record has written\.$/m,
    );
  });

  it.each([
    [
      "text",
      "hello",
      /Line 1 is not JSON\. A recording has one JSON object per line, as `countersign serve --record FILE` writes it\./,
    ],
    ["a list", "\n\n[1]\n", /Line 3 is not an object\./],
    ["a number", "7", /Line 1 is not an object\./],
    ["odd headers", '{"headers":{"a":1},"body":""}', /Line 1 has `headers` that are not names and strings\./],
    ["an endless line", "x".repeat(9_000_000), / is not a recording\. Line 1 is longer than 8388608 bytes\./],
  ])("of %s", (_title, content, message) => expectRecordingError(content, message));

  it("to a receiver that refuses", async () => {
    const receiver = closing(await startReceiver());
    const cwd = temporaryDirectory();
    writeFileSync(
      join(cwd, "traffic.jsonl"),
      '{"headers":{"Content-Type":"application/json"},"body":"{}"}\n',
    );
    const { code, stdout } = await runCommand(["replay", "traffic.jsonl", "--to", receiver.url], { cwd });
    expect([code, stdout]).toEqual([1, "line 1: rejected: 401\n1 sent, 0 answered 2xx, 1 not.\n"]);
  });
});

describe("certify", () => {
  it("a receiver that is not there", async () => {
    const { code, stdout, stderr } = await runCommand([
      "certify",
      "http://127.0.0.1:9/hooks",
      "--secret",
      "s",
    ]);
    expect(stderr).toBe(
      "countersign: Cannot connect to http://127.0.0.1:9/hooks: connect ECONNREFUSED 127.0.0.1:9. Start the receiver, or correct the URL.\n",
    );
    expect(stdout).toBe("");
    expect(code).toBe(1);
  });

  it("of a language that fixes cannot be written for", async () => {
    const { code, stderr } = await runHere([
      "certify",
      "http://127.0.0.1:9/hooks",
      "--secret",
      "s",
      "--for",
      "cobol",
    ]);
    expect(stderr).toContain(
      "Unknown language `cobol`. Use --for with one of node, python, java, php, go, ruby",
    );
    expect(code).toBe(2);
  });

  it.each([
    [
      "two audits with a comma between them",
      "accepts-page, rejects-get",
      /--only takes one audit\. Pass --only accepts-page --only rejects-get\.$/,
    ],
    [
      "an audit with a comma behind it",
      "accepts-page,",
      /--only takes one audit\. Pass --only accepts-page\.$/,
    ],
    ["a comma", ",", /only is empty: name at least one audit, or leave it out to run all\.$/],
    ["no name", "", /Unknown audit ""\. The audits are /],
    [
      "no name, as of a variable that is not set, and another one",
      ["", "rejects-get"],
      /Unknown audit ""\. /,
    ],
    ["an audit that does not exist", "none", /Unknown audit "none"\. The audits are /],
    [
      "an audit with a mistake in its name, and another one",
      "reject-get,accepts-page",
      /Unknown audit "reject-get"\. Did you mean rejects-get\?$/,
    ],
  ])("of %s with --only, before anything is sent", async (_, only, message) => {
    await expectUsageError(
      ["certify", TO, "--secret", "s", ...[only].flat().flatMap((one) => ["--only", one])],
      new RegExp(`^countersign: ${message.source}`, "m"),
    );
  });

  it("with a report that cannot be written, before the first audit", async () => {
    const receiver = closing(await startReceiver());
    await expectUsageError(
      ["certify", receiver.url, "--secret", SECRET, "--only", "accepts-track", "--junit", "/"],
      /^countersign: Cannot write the report to \/: EISDIR.*\. Give --junit a file that can be written\.$/m,
    );
    expect(receiver.webhooks).toEqual([]);
  });

  it("of a receiver that is down leaves no report, also none of an earlier run", async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, "certify.xml"), "<testsuites/>");
    const { code } = await runHere(["certify", TO, "--secret", SECRET, "--junit", "certify.xml"], { cwd });
    expect([code, existsSync(join(cwd, "certify.xml"))]).toEqual([1, false]);
  });

  it.skipIf(isWindows).each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)(
    `that %s ends leaves no empty report, which CI would read${noPosix}`,
    async (signal, status) => {
      const cwd = temporaryDirectory();
      const receiver = await startSilentReceiver();
      const command = startCommand(["certify", receiver.url, "--secret", SECRET, "--junit", "certify.xml"], {
        cwd,
      });
      await receiver.requested;
      expect(existsSync(join(cwd, "certify.xml"))).toBe(true);
      command.process.kill(signal);
      expect([await command.ended, existsSync(join(cwd, "certify.xml"))]).toEqual([status, false]);
    },
  );
});

it.skipIf(isWindows)(`a working directory that was deleted${noPosix}`, async () => {
  const command = `rmdir "$PWD" && exec "${process.execPath}" "${bin}" "$@"`;
  const run = (...args: string[]): SpawnSyncReturns<string> =>
    spawnSync("sh", ["-c", command, "sh", ...args], { cwd: temporaryDirectory(), encoding: "utf8" });
  const serve = run("serve", "--to", TO, "--port", "0");
  const says = "countersign: The working directory does not exist any more. Change to one that does.\n";
  expect([serve.status, serve.stderr]).toEqual([2, says]);
  // What needs none works.
  expect(run("explain", "ERR_TIMEOUT")).toMatchObject({ status: 0, stderr: "" });
});

it("a data directory that cannot be written", async () => {
  const data = temporaryDirectory();
  mkdirSync(join(data, "deliveries.db"));
  await expectUsageError(
    ["serve", "--to", TO, "--port", "0", "--data", data],
    /^countersign: The store .*deliveries\.db cannot be opened/,
  );
});
