import { messageSchema } from "@countersign/core/schemas";
import { DEFAULT_RETRY_POLICY } from "@countersign/sender";
import { createServer } from "@countersign/server";
import { describe, expect, it } from "vitest";
import { publicPackages } from "../scripts/public-packages.mjs";
import { documents, read, sources } from "./support/documents.ts";

interface MessageType {
  readonly properties: Readonly<Record<string, { readonly const?: string }>>;
  readonly allOf?: readonly { readonly anyOf: readonly { readonly required: readonly string[] }[] }[];
}

describe("docs/reference/messages.md", () => {
  const page = read("docs/reference/messages.md");
  const { $defs } = messageSchema() as unknown as { readonly $defs: Readonly<Record<string, MessageType>> };
  const types = Object.values($defs);
  const rowOf = (type: string): string =>
    page.split("\n").find((line) => line.startsWith(`| \`${type}\``)) ?? "";
  const shared = new Set(Object.keys($defs["DeleteMessage"]?.properties ?? {}));

  it("has a row for each type, with the fields of its own and those that it requires", () => {
    expect(types).toHaveLength(7);
    for (const { properties, allOf = [] } of types) {
      const type = properties["type"]?.const ?? "";
      // Both spellings of an alias are explained by a function.
      if (type === "alias") continue;
      const required = allOf.flatMap(({ anyOf }) => anyOf.flatMap(({ required: [name = ""] }) => name));
      const own = Object.keys(properties).filter((name) => !shared.has(name));
      for (const name of [...own, ...required])
        expect({ type, row: rowOf(type) }).toEqual({ type, row: expect.stringContaining(`\`${name}\``) });
    }
  });
});

it.each(["docs/reference/retries.md", "packages/sender/README.md"])(
  "%s has the delays of the policy",
  (file) => {
    const page = read(file);
    const { firstDelayMs, maxDelayMs, minJitter, windowMs, lastRetryMarginMs } = DEFAULT_RETRY_POLICY;
    const [row = ""] = /^\| longest delay .*$/m.exec(page) ?? [];
    const delays = row
      .split("|")
      .slice(2, -1)
      .map((text) => text.trim());
    const longest = delays.map((_, index) => Math.min(firstDelayMs * 2 ** index, maxDelayMs) / 1_000);
    expect(delays.map((text) => (text.endsWith(" min") ? parseFloat(text) * 60 : parseFloat(text)))).toEqual(
      longest,
    );
    expect(longest.at(-1)).toBe(maxDelayMs / 1_000);
    expect(page).toContain(`between ${minJitter} and 1`);
    expect(windowMs - lastRetryMarginMs).toBe(((3 * 60 + 59) * 60 + 55) * 1_000);
    expect(page).toContain("3 h 59 min 55 s");
  },
);

it.each(["commands", "operations", "options"])(
  "docs/reference/%s.md has no rest of a comment or a schema",
  (name) => {
    const page = read(`docs/reference/${name}.md`);
    // A link of a comment, an entity within code marks, where it is shown as it is, and a type that is empty.
    expect(page.match(/\{@\w+|`[^`\n]*&lt;[^`\n]*`|\bor +\|$/gm) ?? []).toEqual([]);
  },
);

it("docs/reference/options.md has all that the members of a union say of an option", () => {
  const [, union = ""] = /^### SenderOptions$(.*?)^##/ms.exec(read("docs/reference/options.md")) ?? [];
  const [row] = /^\| `sources` .*$/m.exec(union) ?? [];
  expect(row).toMatch(/Every source.* Or: `"shared"` reads the settings from the store/);
});

it.each([
  ["certify", "CertifyOptions"],
  ["core", "ReceiverOptions"],
  ["express", "VerifyWebhookOptions"],
  ["fastify", "VerifyWebhookOptions"],
  ["fetch", "WebhookHandlerOptions"],
  ["koa", "VerifyWebhookOptions"],
  ["postgres", "PostgresStoreOptions"],
  ["redis", "RedisDedupeOptions"],
  ["sender", "SenderOptions"],
  ["sender", "SqliteStoreOptions"],
  ["server", "ServerOptions"],
])("the README of %s has a row for every option of %s", (name, type) => {
  const [, ofPackage = ""] = read("docs/reference/options.md").split(`\n## @countersign/${name}\n`);
  const [, section = ""] = ofPackage.split(`\n### ${type}\n`);
  const [table = ""] = section.split("\n#");
  const options = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, option = ""]) => option);
  expect(options.length).toBeGreaterThan(2);
  const rows = read(`packages/${name}/README.md`).match(/^\| `[^|]*/gm) ?? [];
  expect(options.filter((option) => !rows.some((row) => row.includes(`\`${option}\``)))).toEqual([]);
});

describe("every endpoint of the server has its page", () => {
  it("for what clients call: docs/ingestion.md", async () => {
    const page = read("docs/ingestion.md");
    await using server = await createServer({ to: "http://127.0.0.1:9/", port: 0 });
    const document = await fetch(`${server.url}/v1/openapi.json`);
    const { paths } = (await document.json()) as { readonly paths: object };
    expect(Object.keys(paths).length).toBeGreaterThan(6);
    for (const path of ["/v1/openapi.json", ...Object.keys(paths)]) expect(page).toMatch(pagePattern(path));
    const served = await Promise.all(
      ["batch", "import", "b", "track", "t", "m"].map(async (path) => {
        const { status } = await fetch(`${server.url}/v1/${path}`, { method: "POST", body: "{}" });
        return status;
      }),
    );
    expect(served).not.toContain(404);
  });

  it("for what people and supervisors call: docs/cli.md and docs/control-api.md", () => {
    const written = pathsOf("packages/server/src/app/health-routes.ts");
    expect(written).toEqual(expect.arrayContaining(["/metrics", "/healthz", "/readyz"]));
    const pages = read("docs/cli.md") + read("docs/control-api.md");
    for (const path of written) expect(pages).toContain(`\`${path}\``);
  });
});

it.each([
  ["express", "express"],
  ["koa", "koa"],
  ["nestjs", "@nestjs/common"],
])("the README of %s names the versions of %s that npm installs beside it", (name, framework) => {
  const { peerDependencies, engines } = JSON.parse(read(`packages/${name}/package.json`)) as {
    readonly peerDependencies: Readonly<Record<string, string>>;
    readonly engines: { readonly node: string };
  };
  const [, versions = "", node] =
    /^\w+ (\^.+), Node (.+?)\. ES module/m.exec(read(`packages/${name}/README.md`)) ?? [];
  expect(versions.split(/, | or /).join(" || ")).toBe(peerDependencies[framework]);
  expect(node?.replace(" or ", " || ")).toBe(engines.node);
});

it("every export has a place in the reference, under the name that users import", () => {
  const entries = documentsOfSurface().flatMap((text) =>
    [...text.matchAll(/^## (\S+): \d+ names$/gm)].map(([, name]) => name),
  );
  expect(entries.length).toBeGreaterThan(25);
  const all = documents().map(read).join("\n");
  expect(entries.filter((name) => !all.includes(name ?? ""))).toEqual([]);
});

it("every environment variable that a command reads is in docs/cli.md", () => {
  const used = sources()
    .filter((file) => file.startsWith("packages/cli/"))
    .flatMap((file) => [...read(file).matchAll(/\.env\("([A-Z_]+)"\)/g)].map(([, name = ""]) => name));
  expect(new Set(used).size).toBeGreaterThan(5);
  expect(used.filter((name) => !read("docs/cli.md").includes(`\`${name}\``))).toEqual([]);
});

/** The paths that a file registers, as it writes them. */
function pathsOf(file: string): readonly string[] {
  const text = read(file);
  const registered = text.matchAll(/\b(?:scope|app)\.(?:get|post)(?:<[^(]*>)?\(\s*["'`](\/[^"'`]*)/g);
  return [...registered].map(([, path = ""]) => path);
}

/** On the page, a part of a path may be one of several in braces, and one below another may be a parameter. */
function pagePattern(path: string): RegExp {
  const parts = path.slice("/v1/".length).split("/");
  const patterns = parts.map((part, depth) => {
    const word = part.replaceAll(/[{}]/g, "").replace(".", String.raw`\.`);
    const several = String.raw`\{[\w,]*\b${word}\b[\w,]*\}`;
    return `(?:${[word, several, ...(depth > 0 ? [String.raw`\{\w+\}`] : [])].join("|")})`;
  });
  return new RegExp(String.raw`/v1/${patterns.join("/")}(?![\w])`);
}

function documentsOfSurface(): readonly string[] {
  return publicPackages().map(({ name }) => read(`packages/${name}/api.txt`));
}
