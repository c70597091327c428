import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { parse } from "yaml";
import { createProgram } from "../packages/cli/src/program.ts";
import { terminalOf } from "../packages/cli/src/terminal/terminal.ts";
import { blocksOf, documents, placeOf, read, root, sources, type Block } from "./support/documents.ts";
import { commandLines, type CommandLine } from "./support/shell-lines.ts";

/** What each kind of block is held to. A block of any other kind would be checked by nothing. */
const CHECKED_BY: Readonly<Record<string, string>> = {
  ts: "doc-examples.test.ts compiles it",
  js: "this file: a page that tests/hosts follows has it",
  sh: "this file checks each command",
  console: "this file checks each command",
  yaml: "this file parses it",
  json: "this file parses it; doc-fragments.test.ts sends the calls of the error pages",
  http: "doc-fragments.test.ts sends it",
  html: "doc-fragments.test.ts loads it",
  ini: "this file reads the unit of systemd, and checks its command",
  sql: "administration.test.ts of the PostgreSQL store runs it",
  nginx: "doc-fragments.test.ts reads its directives",
  dotenv: "doc-fragments.test.ts reads its variables",
  ...Object.fromEntries(
    ["php", "python", "ruby", "go", "java"].map((language) => [
      language,
      "other-languages.test.ts runs and audits it",
    ]),
  ),
  text: "doc-output.test.ts compares it with what makes it",
};

/** Commands of pnpm 12. A script of the same name needs `pnpm run`. */
const OF_PNPM = new Set("audit bugs docs import licenses list pack publish repo sbom version why".split(" "));

const ALL = [...documents(), ...sources()].flatMap(blocksOf);
const of = (...languages: readonly string[]): readonly Block[] =>
  ALL.filter(({ language }) => languages.includes(language));

it("every block of code is of a kind that is checked", () => {
  expect(ALL.length).toBeGreaterThan(250);
  const others = ALL.filter(({ language }) => CHECKED_BY[language] === undefined);
  expect(others.map((block) => `${placeOf(block)}: ${block.language}`)).toEqual([]);
});

describe("a block of commands", () => {
  it("names commands and options of countersign that exist, with values that they take", () => {
    const commands = lines().flatMap(argumentsOf);
    expect(commands.length).toBeGreaterThan(60);
    const problems = commands.flatMap(({ at, args }) =>
      problemOf(args).map((problem) => `${at}: ${problem}`),
    );
    expect(problems).toEqual([]);
  });

  it("gives serve a destination, or a config file that the page shows", () => {
    const starts = lines()
      .flatMap(argumentsOf)
      .filter(({ args }) => args[0] === "serve");
    expect(starts.length).toBeGreaterThan(5);
    const without = starts.filter(
      ({ at, args }) =>
        !args.includes("--to") &&
        !args.includes("--config") &&
        !read(at.replace(/:\d+$/u, "")).includes("defineConfig({"),
    );
    expect(without).toEqual([]);
  });

  it("names scripts that exist, and that no command of pnpm hides", () => {
    const used = lines().flatMap(({ at, words: [tool = "", first = "", second = ""] }) => {
      if (
        !/^p?npm$/.test(tool) ||
        /^(?:install|i|add|exec|ci|dlx|prefix|changeset|-|test$|start$)/.test(first)
      )
        return [];
      if (tool === "pnpm" && first === "--filter") return [];
      const script = first === "run" ? second : first;
      return [{ at, script, isHidden: script === first && OF_PNPM.has(script) }];
    });
    const { scripts } = JSON.parse(read("package.json")) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    expect(used.length).toBeGreaterThan(15);
    expect(used.filter(({ script, isHidden }) => isHidden || !Object.hasOwn(scripts, script))).toEqual([]);
  });

  it("installs packages that are ours, or that some test uses", () => {
    const installed = lines().flatMap(({ at, words: [tool, verb, ...names] }) =>
      tool === "npm" && verb === "install"
        ? names.filter((name) => !name.startsWith("-")).map((name) => ({ at, name }))
        : [],
    );
    // What only tests/hosts installs, by these very lines.
    const known = new Set([
      ...knownPackages(),
      "jest",
      "mocha",
      "@types/mocha",
      "tsx",
      "ts-jest",
      "@jest/globals",
      "babel-jest",
      "@babel/core",
      "@babel/preset-env",
    ]);
    expect(installed.length).toBeGreaterThan(30);
    expect(installed.filter(({ name }) => !known.has(name.replace(/(?<=.)@[^/]+$/, "")))).toEqual([]);
  });

  it("runs nothing else but tools that a reader has", () => {
    const shell =
      "apt-get bash cd countersign curl docker echo export git kill mkdir node npm npx openssl pnpm printf";
    // Of a service.
    const service = "install journalctl systemctl useradd";
    // Of the hosts that guides are about: tests/hosts runs them.
    const hosts = "bun deno functions-framework jest mocha next vitest wrangler";
    // Of other languages: other-languages.test.ts runs them.
    const languages = "go gunicorn java php puma";
    // Of the error pages.
    const system = "chmod gzip ls mv nslookup redis-cli rm touch ulimit";
    const tools = new Set([
      ...[shell, service, hosts, languages, system].flatMap((names) => names.split(" ")),
      "source",
    ]);
    const others = lines().filter(({ words }) => !tools.has(words[0] ?? ""));
    expect(others.map(({ at, words }) => `${at}: ${words.join(" ")}`)).toEqual([]);
  });
});

it("a unit of systemd has settings in sections, and starts countersign", () => {
  for (const { text } of of("ini")) {
    expect(
      text
        .trim()
        .split("\n")
        .filter((line) => !/^(?:|# .+|\[[A-Z]\w+\]|[A-Z]\w+=(?:\S.*)?)$/.test(line)),
    ).toEqual([]);
  }
  expect(unitCommands().filter(({ words }) => words[0] !== "countersign")).toEqual([]);
  expect(unitCommands().length).toBeGreaterThan(0);
});

it("every block of YAML and JSON can be read", () => {
  const problems = of("yaml", "json").flatMap((block) => {
    try {
      // JSON is YAML, but YAML accepts more.
      void (block.language === "json" ? JSON.parse(block.text) : parse(block.text));
      return [];
    } catch (error) {
      return [`${placeOf(block)}: ${String(error)}`];
    }
  });
  expect(problems).toEqual([]);
  expect(of("yaml").length).toBeGreaterThan(1);
});

it("a container of Kubernetes starts a command that exists, is asked what it answers, and is given time to stop", () => {
  // Of the Secret.
  vi.stubEnv("COUNTERSIGN_STORE", "postgres://database/countersign");
  onTestFinished(() => void vi.unstubAllEnvs());
  const pods = of("yaml")
    .map(({ text }) => parse(text) as Manifest & Container)
    .map(({ spec, ...rest }): Pod => spec?.template?.spec ?? { containers: [rest] });
  const started = pods.flatMap(({ containers, ...pod }) =>
    containers.filter(({ args }) => args !== undefined).map((container) => ({ ...pod, ...container })),
  );
  expect(started.map(({ args: [command] = [] }) => command)).toEqual(["serve", "work"]);
  for (const {
    args = [],
    ports,
    lifecycle,
    terminationGracePeriodSeconds: grace = 30,
    ...probes
  } of started) {
    expect(problemOf(args)).toEqual([]);
    const { startupProbe, livenessProbe, readinessProbe } = probes;
    for (const probe of [startupProbe, livenessProbe]) expect(probe?.httpGet ?? LIVENESS).toEqual(LIVENESS);
    expect(readinessProbe?.httpGet).toEqual({ ...LIVENESS, path: "/readyz" });
    expect(ports).toEqual([{ containerPort: LIVENESS.port }]);
    const [, seconds = "0"] = lifecycle?.preStop.exec.command ?? [];
    // --drain, and as much again for what follows.
    expect(grace).toBeGreaterThanOrEqual(Number(seconds) + 20);
  }
});

it("a Service of Kubernetes leads to the pods of the manifest beside it", () => {
  const manifests = of("yaml").map(({ text, file }) => ({ file, ...(parse(text) as Manifest) }));
  const services = manifests.filter(({ kind }) => kind === "Service");
  expect(services.length).toBeGreaterThan(0);
  for (const { file, metadata, spec } of services) {
    const set = manifests.find((other) => other.file === file && other.kind === "StatefulSet");
    expect(set?.spec?.serviceName).toBe(metadata?.name);
    expect(set?.spec?.template?.metadata?.labels).toEqual(spec?.selector);
    expect(spec?.ports).toEqual([{ port: LIVENESS.port }]);
  }
});

it("a workflow passes only inputs that the action has", () => {
  const { inputs, outputs } = parse(read("action.yml")) as Readonly<
    Record<string, Readonly<Record<string, unknown>>>
  >;
  const guide = read("docs/guides/ci.md");
  const steps = of("yaml")
    .map(
      ({ text }) =>
        parse(text) as { readonly jobs?: Readonly<Record<string, { readonly steps: readonly Step[] }>> },
    )
    .flatMap(({ jobs = {} }) => Object.values(jobs).flatMap((job) => job.steps))
    .filter(({ uses }) => uses?.startsWith("OWNER/REPOSITORY"));
  expect(steps.length).toBeGreaterThan(0);
  for (const { with: given = {} } of steps)
    expect(Object.keys(given).filter((name) => !Object.hasOwn(inputs ?? {}, name))).toEqual([]);
  const names = [...Object.keys(inputs ?? {}), ...Object.keys(outputs ?? {})];
  expect(names.filter((name) => !guide.includes(`\`${name}\``))).toEqual([]);
});

it("every block of JavaScript is in a page that tests/hosts follows", () => {
  const hosts = filesIn("tests/hosts").filter((file) => file.endsWith(".host.ts"));
  const followed = new Set(
    hosts.flatMap((file) => [...read(file).matchAll(/"([\w/-]+\.md)"/g)].map(([, page]) => page)),
  );
  expect(of("js").length).toBeGreaterThan(0);
  expect(of("js").filter(({ file }) => !followed.has(file))).toEqual([]);
});

const LIVENESS = { path: "/healthz", port: 4010 };

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: number };
}

interface Container {
  readonly args?: readonly string[];
  readonly ports?: readonly { readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
}

interface Pod {
  readonly terminationGracePeriodSeconds?: number;
  readonly containers: readonly Container[];
}

type Names = Readonly<Record<string, string>>;

interface Manifest {
  readonly kind?: string;
  readonly metadata?: { readonly name: string };
  readonly spec?: {
    readonly serviceName?: string;
    readonly selector?: object;
    readonly ports?: readonly object[];
    readonly template?: { readonly metadata?: { readonly labels: Names }; readonly spec: Pod };
  };
}

interface Step {
  readonly uses?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

function lines(): readonly CommandLine[] {
  return [...commandLines(of("sh", "console")), ...unitCommands()];
}

/** What units of systemd start, without the folder of the program. */
function unitCommands(): readonly CommandLine[] {
  const commands = of("ini").map((block) => {
    const [, command = ""] = /^ExecStart=\S*\/(.*)$/m.exec(block.text) ?? [];
    return { ...block, text: command };
  });
  return commandLines(commands);
}

/** What a command passes to `countersign`, which it may also run in a container. */
function argumentsOf({
  at,
  words,
}: CommandLine): readonly { readonly at: string; readonly args: readonly string[] }[] {
  const isRun = words[0] === "docker" && words[1] === "run";
  const index = isRun ? words.lastIndexOf("countersign") : words.indexOf("countersign");
  return (isRun ? index > 0 : index === 0) ? [{ at, args: words.slice(index + 1) }] : [];
}

/** Why the command line refuses these arguments; nothing if it does not. No command runs. */
function problemOf(args: readonly string[]): readonly string[] {
  const errors: string[] = [];
  const program = createProgram(terminalOf(process), () => {});
  for (const command of program.commands) {
    command.action(() => {});
    command.configureOutput({ writeErr: (text) => errors.push(text.trim()), writeOut: () => {} });
  }
  try {
    program.parse(args, { from: "user" });
  } catch (error) {
    const isHelp = error instanceof Error && "exitCode" in error && error.exitCode === 0;
    return isHelp ? [] : [errors.join(" ") || String(error)];
  }
  return [];
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(join(root, folder)).map((name) => `${folder}/${name}`);
}

/** Every package that some manifest of the workspace names. */
function knownPackages(): ReadonlySet<string> {
  const folders = ["packages", "examples"].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => `${folder}/${name}/package.json`),
  );
  const manifests = ["package.json", "tests/package.json", "bench/package.json", ...folders]
    .filter((file) => existsSync(join(root, file)))
    .map((file) => JSON.parse(read(file)) as Readonly<Record<string, unknown>>);
  return new Set(
    manifests.flatMap((manifest) => [
      String(manifest["name"]),
      ...["dependencies", "devDependencies", "peerDependencies"].flatMap((field) =>
        Object.keys(manifest[field] ?? {}),
      ),
    ]),
  );
}
