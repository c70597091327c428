import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = join(root, ".github/workflows");

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<
      string,
      {
        readonly "timeout-minutes"?: number;
        readonly permissions?: Readonly<Record<string, string>>;
        readonly environment?: string;
        readonly strategy?: { readonly matrix: { readonly node: readonly string[] } };
        readonly steps: readonly Step[];
      }
    >
  >;
}

const { scripts, engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
};
const workflows = readdirSync(folder).map(
  (file) => [file, parse(readFileSync(join(folder, file), "utf8")) as Workflow] as const,
);
/** The action of this repository, which `uses: ./` runs as it is in the same commit. */
const own = parse(readFileSync(join(root, "action.yml"), "utf8")) as {
  readonly runs: { readonly steps: readonly Step[] };
};
/** What runners have installed. */
const RUNNER_COMMANDS = new Set(["docker", "gh"]);
const unpinned = (steps: readonly Step[]): readonly string[] =>
  steps.flatMap(({ uses }) => uses ?? []).filter((uses) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/.test(uses));
const stepsOf = ({ jobs }: Workflow): readonly Step[] => Object.values(jobs).flatMap(({ steps }) => steps);
const runsOf = (workflow: Workflow): readonly string[] => stepsOf(workflow).flatMap(({ run }) => run ?? []);

describe.each(workflows)("%s", (_file, workflow) => {
  it("gives its jobs no more than they need, and an end", () => {
    expect(Object.values(workflow.permissions).every((access) => access === "read")).toBe(true);
    for (const { "timeout-minutes": minutes } of Object.values(workflow.jobs))
      expect(minutes).toBeGreaterThan(0);
    // It would run a stranger's code with our permissions.
    expect(Object.keys(workflow.on)).not.toContain("pull_request_target");
  });

  it("runs actions by the hash of a commit: a tag can be moved", () => {
    expect(unpinned(stepsOf(workflow)).filter((uses) => uses !== "./")).toEqual([]);
  });

  it("leaves no credentials in the checkout", () => {
    const checkouts = stepsOf(workflow).filter(({ uses = "" }) => uses.startsWith("actions/checkout@"));
    expect(checkouts.length).toBeGreaterThan(0);
    for (const checkout of checkouts) expect(checkout.with).toMatchObject({ "persist-credentials": false });
  });

  it("runs commands that exist, with nothing interpolated into them", () => {
    for (const run of runsOf(workflow)) {
      // What a title or a branch says would otherwise be a command.
      expect(run).not.toContain("${{");
      execFileSync("bash", ["-n", "-c", run]);
      const [command = "", script = ""] = run.replace(/^\(?npm (?:run )?/, "npm ").split(" ");
      if (command === "npm") expect(Object.keys(scripts)).toContain(script);
      else if (!RUNNER_COMMANDS.has(command)) expect(existsSync(join(root, command))).toBe(true);
    }
  });
});

it("the action of this repository runs others by the hash of a commit, too", () => {
  expect(own.runs.steps.some(({ uses }) => uses !== undefined)).toBe(true);
  expect(unpinned(own.runs.steps)).toEqual([]);
});

it("tests the lowest version of each range in engines", () => {
  const [, ci] = workflows.find(([file]) => file === "ci.yml") ?? [];
  const tested = Object.values(ci?.jobs ?? {}).flatMap(({ strategy }) => strategy?.matrix.node ?? []);
  for (const [, lowest] of engines.node.matchAll(/(\d+\.\d+)/g)) expect(tested).toContain(lowest);
});

it("asks for known vulnerabilities every week", () => {
  const [, audit] = workflows.find(([file]) => file === "audit.yml") ?? [];
  expect(audit?.on["schedule"]).toEqual([{ cron: expect.stringMatching(/^\d+ \d+ \* \* \d$/) }]);
  expect(runsOf(audit as Workflow)).toContain("npm run audit:published");
});

describe("a release", () => {
  const copy = mkdtempSync(join(tmpdir(), "countersign-release-"));
  afterAll(() => rmSync(copy, { recursive: true }));

  it("is tested, and published with provenance and bills of materials, by a job that is approved", () => {
    const [, release] = workflows.find(([file]) => file === "release.yml") ?? [];
    const job = release?.jobs["publish"];
    expect(job?.permissions).toMatchObject({ "id-token": "write" });
    expect(job?.environment).toBe("release");
    expect(runsOf(release as Workflow).slice(0, 3)).toEqual(["npm test", "npm run sbom", "npm run release"]);
  });

  it("names the repository in each package, for its provenance; and refuses a tag of another version", () => {
    for (const path of ["package.json", "scripts", "packages"]) {
      cpSync(join(root, path), join(copy, path), {
        recursive: true,
        filter: (source) => !/[/\\](?:node_modules|src|test|dist)(?:[/\\]|$)/.test(source),
      });
    }
    const release = (tag: string): string => {
      const env = {
        ...process.env,
        GITHUB_SERVER_URL: "https://git.example",
        GITHUB_REPOSITORY: "a/b",
        GITHUB_REF_NAME: tag,
      };
      // A pnpm that only says what it was asked.
      const path = `${join(copy, "bin")}:${process.env["PATH"]}`;
      return execFileSync(process.execPath, ["scripts/release.mjs"], {
        cwd: copy,
        encoding: "utf8",
        env: { ...env, PATH: path },
        stdio: ["ignore", "pipe", "pipe"],
      });
    };
    writePnpm(join(copy, "bin"));
    expect(() => release("v9.9.9")).toThrow("but the tag is v9.9.9");
    const { version } = JSON.parse(readFileSync(join(copy, "packages/core/package.json"), "utf8")) as {
      version: string;
    };
    expect(release(`v${version}`)).toContain(
      "publish --recursive --access public --no-git-checks --provenance",
    );
    const { repository } = JSON.parse(readFileSync(join(copy, "packages/core/package.json"), "utf8")) as {
      repository: unknown;
    };
    expect(repository).toEqual({
      type: "git",
      url: "git+https://git.example/a/b.git",
      directory: "packages/core",
    });
  });
});

function writePnpm(bin: string): void {
  execFileSync("bash", [
    "-c",
    `mkdir -p "$0" && printf '#!/bin/sh\\necho "$@"\\n' > "$0/pnpm" && chmod +x "$0/pnpm"`,
    bin,
  ]);
}
