import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { publicPackages } from "../scripts/public-packages.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

const COMPILERS: readonly { readonly version: string; readonly bin: string }[] = [
  { version: "7", bin: "node_modules/typescript/bin/tsc" },
  { version: "5.9", bin: "tests/node_modules/typescript-5.9/bin/tsc" },
];

/** What a compiler says of files, by their paths below the root. */
function compile(bin: string, folder: string, files: readonly string[], paths = {}): Promise<string[]> {
  const compilerOptions = {
    composite: false,
    isolatedDeclarations: false,
    noEmit: true,
    paths,
    typeRoots: [join(root, "node_modules/@types")],
  };
  return runCompiler(bin, folder, { extends: join(root, "tsconfig.base.json"), compilerOptions, files });
}

async function runCompiler(bin: string, folder: string, tsconfig: object): Promise<string[]> {
  const directory = await mkdtemp(join(root, folder, "node_modules/.types-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, "tsconfig.json"), JSON.stringify(tsconfig));
  const output = await new Promise<string>((resolve) => {
    const args = [join(root, bin), "-p", directory, "--pretty", "false"];
    execFile(process.execPath, args, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
  return output.split("\n").filter((line) => line !== "");
}

/** What a compiler says of an app of its own: the types of this one must not be augmented for every other test. */
async function compileApp(bin: string, name: string, app: string, paths = {}): Promise<string[]> {
  const lines = await explainApp(bin, name, app, paths);
  return lines.filter((line) => line.includes(": error TS")).map((line) => line.replace(/^.*app\.ts/, ""));
}

/** The same with the lines that explain. */
async function explainApp(bin: string, name: string, app: string, paths = {}): Promise<string[]> {
  const folder = join("packages", name);
  const directory = await mkdtemp(join(root, folder, "node_modules/.app-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, "app.ts");
  await writeFile(file, app);
  return compile(bin, folder, [file], paths);
}

/** An app for each adapter that allows unknown types, and whose controller relies on the type being one of the seven. */
const APPS: Readonly<Record<string, string>> = {
  express: `
import { isTrack } from "@countersign/core";
import { verifyWebhook } from "@countersign/express";
import express, { type Request } from "express";
type Seven = "page" | "screen" | "identify" | "track" | "alias" | "group" | "delete";
const app = express();
app.post("/:tenant", verifyWebhook({ secret: "secret", allowUnknownTypes: true }), controller);
function controller({ webhook }: Request): void {
  const type: Seven = webhook.message.type;
  void [isTrack(webhook.message) ? webhook.message.event : type];
}`,
  koa: `
import { isTrack } from "@countersign/core";
import { verifyWebhook } from "@countersign/koa";
import Koa, { type Context } from "koa";
type Seven = "page" | "screen" | "identify" | "track" | "alias" | "group" | "delete";
const app = new Koa();
app.use(verifyWebhook({ secret: "secret", allowUnknownTypes: true })).use(controller);
function controller({ state: { webhook } }: Context): void {
  const type: Seven = webhook.message.type;
  void [isTrack(webhook.message) ? webhook.message.event : type];
}`,
  fastify: `
import { isTrack } from "@countersign/core";
import { verifyWebhook } from "@countersign/fastify";
import fastify, { type FastifyRequest } from "fastify";
type Seven = "page" | "screen" | "identify" | "track" | "alias" | "group" | "delete";
const app = fastify();
app.register(verifyWebhook, { secret: "secret", allowUnknownTypes: true });
async function controller({ webhook }: FastifyRequest): Promise<void> {
  const type: Seven = webhook.message.type;
  void [isTrack(webhook.message) ? webhook.message.event : type];
}
app.post("/webhooks", controller);`,
};

const augmentation = (name: string): string => `
declare module "@countersign/${name}" {
  interface WebhookTypes { allowUnknownTypes: true }
}`;

describe.each(COMPILERS)("TypeScript $version", { timeout: 180_000 }, ({ bin }) => {
  it("accepts and rejects in the type tests of core and the adapters what they say", async () => {
    const packages = ["core", "express", "fastify", "koa", "fetch"];
    const files = packages.map((name) => join(root, "packages", name, "test/types.test.ts"));
    expect(await compile(bin, "tests", files)).toEqual([]);
  });

  it.each(Object.entries(APPS))(
    "lets an app on %s allow unknown types only where it declares that, and widens its messages there",
    async (name, app) => {
      const [without, augmented] = await Promise.all([
        compileApp(bin, name, app),
        compileApp(bin, name, app + augmentation(name)),
      ]);
      expect(without).toEqual([expect.stringMatching(/^\(7,\d+\): error TS2(?:322|769): /)]);
      expect(augmented).toEqual([
        expect.stringMatching(/^\(9,\d+\): error TS2322: Type 'string' is not assignable/),
      ]);
    },
  );

  it.each(["sender", "server", "postgres"])(
    "reads the types of %s without those of libsql, which is not installed where it has no build",
    async (name) => {
      const read = await runCompiler(bin, join("packages", name), {
        extends: join(root, "tsconfig.base.json"),
        compilerOptions: { composite: false, isolatedDeclarations: false, noEmit: true, listFiles: true },
        files: [join(root, "packages", name, "dist/index.d.ts")],
      });
      expect(read).toContainEqual(expect.stringContaining(`packages/${name}/dist/index.d.ts`));
      expect(read.filter((line) => line.includes("/libsql/"))).toEqual([]);
    },
  );

  it.each([
    {
      name: "@countersign/express",
      entry: "packages/express/dist/index.d.ts",
      code: 'export const exported = verifyWebhook({ secret: "secret" });',
      type: "AppMiddleware",
    },
    {
      name: "@countersign/redis",
      entry: "packages/redis/dist/index.d.ts",
      code: "export const exported = redisDedupe({} as RedisClient);",
      type: "DedupeStore",
    },
    {
      name: "@countersign/postgres/dedupe",
      entry: "packages/postgres/dist/dedupe.d.ts",
      code: "export const exported = postgresDedupe({} as PostgresPool);",
      type: "DedupeStore",
    },
    {
      name: "@countersign/sender",
      entry: "packages/sender/dist/index.d.ts",
      code: "export const exported = sqliteStore();",
      type: "DeliveryStore",
    },
    {
      name: "@countersign/core/node",
      entry: "packages/core/dist/node.d.ts",
      code: "export const exported = toWebhookRequest({} as NodeRequest);",
      type: "WebhookRequest<",
    },
  ])(
    "declares what an app exports of $name by that name alone: it need neither install nor import another",
    async ({ name, entry, code, type }) => {
      const folder = join(entry, "../..");
      const directory = await mkdtemp(join(root, folder, "node_modules/.library-"));
      onTestFinished(() => rm(directory, { recursive: true }));
      const file = join(directory, "library.ts");
      const imported = [...code.matchAll(/(?<=as )\w+|\w+(?=\()/g)].map(([word]) => word);
      await writeFile(file, `import { ${imported.join(", ")} } from "${name}";\n${code}\n`);
      const compilerOptions = {
        module: "nodenext",
        strict: true,
        declaration: true,
        emitDeclarationOnly: true,
        skipLibCheck: true,
        types: [],
        paths: { [name]: [join(root, entry)] },
      };
      await runCompiler(bin, folder, {
        compilerOptions: { ...compilerOptions, rootDir: root, outDir: directory },
        files: [file],
      });
      const written = await readFile(join(directory, directory.slice(root.length), "library.d.ts"), "utf8");
      expect(written).toMatch(new RegExp(`exported: import\\("${name}"\\)\\.${type}`));
    },
  );

  it("says of a call of the client what is missing, and not that it has no anonymousId", async () => {
    const app = `
import { Analytics, type StandardSchema } from "@countersign/client";
const schemas = { "Signed Up": {} as StandardSchema<{ plan: string }> };
const typed = new Analytics("KEY", { events: { schemas } });
typed.track({ userId: "u1", event: "Signed Up" });
const analytics = new Analytics("KEY");
analytics.track({ userId: "u1" });
analytics.group({ userId: "u1" });
analytics.track({ event: "Signed Up" });`;
    const lines = await explainApp(bin, "client", app);
    const missing = lines.map((line) => /Property '(\w+)' is missing/.exec(line)?.[1]);
    expect(missing.filter((field) => field !== undefined)).toEqual([
      "properties",
      "event",
      "groupId",
      "userId",
    ]);
  });

  it("has the same types on Fastify 4", async () => {
    const app = APPS["fastify"] ?? "";
    const fastify4 = { fastify: [join(root, "packages/fastify/node_modules/fastify4")] };
    const right = app.replace(", allowUnknownTypes: true", "");
    expect(await compileApp(bin, "fastify", right, fastify4)).toEqual([]);
    const wrong = app.replace("allowUnknownTypes: true", "secrets: []");
    expect(await compileApp(bin, "fastify", wrong, fastify4)).toEqual([expect.stringContaining("TS2769")]);
  });
});

it(
  "declares every entry point so that TypeScript 5.4 reads it without skipLibCheck",
  { timeout: 180_000 },
  async () => {
    const entries = publicPackages().flatMap(({ folder, manifest }) =>
      Object.values(manifest.exports as Record<string, string | { types?: string }>).flatMap((entry) =>
        typeof entry === "object" && entry.types !== undefined ? [join(folder, entry.types)] : [],
      ),
    );
    expect(entries.length).toBeGreaterThan(30);
    const lines = await runCompiler("tests/node_modules/typescript-5.4/bin/tsc", "tests", {
      compilerOptions: {
        strict: true,
        target: "es2022",
        lib: ["es2023", "dom", "dom.iterable"],
        module: "nodenext",
        noEmit: true,
        types: ["node"],
        typeRoots: [join(root, "node_modules/@types")],
      },
      files: entries,
    });
    // The declarations of what the packages depend on may need a newer one.
    expect(lines.filter((line) => line.startsWith("packages/") && !line.includes("/node_modules/"))).toEqual(
      [],
    );
    expect(lines.filter((line) => !/^(?:packages|node_modules)\/|^ /.test(line))).toEqual([]);
  },
);
