import { randomUUID } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { publicPackages } from "../scripts/public-packages.mjs";
import { compileProjects, type Project } from "./support/compile-projects.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

const COMPILERS: readonly { readonly version: string; readonly bin: string }[] = [
  { version: "7", bin: "node_modules/typescript/bin/tsc" },
  { version: "5.9", bin: "tests/node_modules/typescript-5.9/bin/tsc" },
];

/** Where this run writes: a name that no other has. */
const OWN = `node_modules/.types-${randomUUID()}`;

/** A file of an app beside a package: what the package depends on is found from there. */
const appFile = (name: string, file: string): string => join(root, "packages", name, OWN, file);

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

const CLIENT_APP = `
import { Analytics, type StandardSchema } from "@countersign/client";
const schemas = { "Signed Up": {} as StandardSchema<{ plan: string }> };
const typed = new Analytics("KEY", { events: { schemas } });
typed.track({ userId: "u1", event: "Signed Up" });
const analytics = new Analytics("KEY");
analytics.track({ userId: "u1" });
analytics.group({ userId: "u1" });
analytics.track({ event: "Signed Up" });`;

/** What an app exports of an entry, and the type that its declaration must name by that entry. */
const LIBRARIES = [
  {
    name: "@countersign/express",
    entry: "packages/express/dist/index.d.ts",
    file: appFile("express", "library.ts"),
    code: 'export const exported = verifyWebhook({ secret: "secret" });',
    type: "AppMiddleware",
  },
  {
    name: "@countersign/redis",
    entry: "packages/redis/dist/index.d.ts",
    file: appFile("redis", "library.ts"),
    code: "export const exported = redisDedupe({} as RedisClient);",
    type: "DedupeStore",
  },
  {
    name: "@countersign/postgres/dedupe",
    entry: "packages/postgres/dist/dedupe.d.ts",
    file: appFile("postgres", "library.ts"),
    code: "export const exported = postgresDedupe({} as PostgresPool);",
    type: "DedupeStore",
  },
  {
    name: "@countersign/sender",
    entry: "packages/sender/dist/index.d.ts",
    file: appFile("sender", "library.ts"),
    code: "export const exported = sqliteStore();",
    type: "DeliveryStore",
  },
  {
    name: "@countersign/core/node",
    entry: "packages/core/dist/node.d.ts",
    file: appFile("core", "library.ts"),
    code: "export const exported = toWebhookRequest({} as NodeRequest);",
    type: "WebhookRequest<",
  },
];

const fastifyApp = APPS["fastify"] ?? "";

/** Every app, by its file. */
const FILES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(APPS).flatMap(([name, app]) => [
      [appFile(name, "app.ts"), app],
      [appFile(name, "augmented.ts"), app + augmentation(name)],
    ]),
  ),
  [appFile("fastify", "right.ts")]: fastifyApp.replace(", allowUnknownTypes: true", ""),
  [appFile("fastify", "wrong.ts")]: fastifyApp.replace("allowUnknownTypes: true", "secrets: []"),
  [appFile("client", "app.ts")]: CLIENT_APP,
  ...Object.fromEntries(
    LIBRARIES.map(({ name, file, code }) => {
      const imported = [...code.matchAll(/(?<=as )\w+|\w+(?=\()/g)].map(([word]) => word);
      return [file, `import { ${imported.join(", ")} } from "${name}";\n${code}\n`];
    }),
  ),
};

/** An app as strict as this repository. */
function strict(files: readonly string[], more: object = {}): Project {
  const compilerOptions = {
    composite: false,
    isolatedDeclarations: false,
    noEmit: true,
    typeRoots: [join(root, "node_modules/@types")],
    ...more,
  };
  return { extends: join(root, "tsconfig.base.json"), compilerOptions, files };
}

const TYPE_TESTS = ["core", "express", "fastify", "koa", "fetch"].map((name) =>
  join(root, "packages", name, "test/types.test.ts"),
);

/** Packages that can do without libsql. */
const WITHOUT_LIBSQL = ["sender", "server", "postgres"];

/** Where a compiler writes declarations. */
const outDirOf = (version: string): string => join(root, "tests", OWN, version);

/** What is augmented, or found elsewhere, is so for a whole project: the types of one must not be augmented for another. */
function projectsFor(version: string): readonly Project[] {
  const names = Object.keys(APPS);
  return [
    strict([...TYPE_TESTS, ...[...names, "client"].map((name) => appFile(name, "app.ts"))]),
    ...names.map((name) => strict([appFile(name, "augmented.ts")])),
    strict([appFile("fastify", "right.ts"), appFile("fastify", "wrong.ts")], {
      paths: { fastify: [join(root, "packages/fastify/node_modules/fastify4")] },
    }),
    strict(
      WITHOUT_LIBSQL.map((name) => join(root, "packages", name, "dist/index.d.ts")),
      { listFiles: true },
    ),
    ...LIBRARIES.map(({ name, entry, file }) => ({
      compilerOptions: {
        module: "nodenext",
        strict: true,
        declaration: true,
        emitDeclarationOnly: true,
        skipLibCheck: true,
        types: [],
        paths: { [name]: [join(root, entry)] },
        rootDir: root,
        outDir: outDirOf(version),
      },
      files: [file],
    })),
  ];
}

beforeAll(async () => {
  for (const [file, text] of Object.entries(FILES)) {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
});

afterAll(async () => {
  const folders = new Set([...Object.keys(FILES).map(dirname), join(root, "tests", OWN)]);
  await Promise.all([...folders].map((folder) => rm(folder, { recursive: true, force: true })));
});

describe.each(COMPILERS)("TypeScript $version", ({ version, bin }) => {
  let texts: readonly string[];
  beforeAll(async () => {
    texts = await compileProjects(bin, projectsFor(version));
  }, 300_000);

  /** What the compiler says of a file, without its path. */
  function said(file: string): readonly string[] {
    const path = file.slice(root.length).replaceAll("\\", "/");
    return texts.filter((text) => text.startsWith(`${path}(`)).map((text) => text.slice(path.length));
  }

  it("accepts and rejects in the type tests of core and the adapters what they say", () => {
    expect(TYPE_TESTS.flatMap(said)).toEqual([]);
    // Nor is anything wrong that is in none of the apps.
    const others = texts.filter((text) => text.includes("error TS") && !text.includes(`/${OWN}/`));
    expect(others).toEqual([]);
  });

  it.each(Object.keys(APPS))(
    "lets an app on %s allow unknown types only where it declares that, and widens its messages there",
    (name) => {
      expect(said(appFile(name, "app.ts"))).toEqual([
        expect.stringMatching(/^\(7,\d+\): error TS2(?:322|769): /),
      ]);
      expect(said(appFile(name, "augmented.ts"))).toEqual([
        expect.stringMatching(/^\(9,\d+\): error TS2322: Type 'string' is not assignable/),
      ]);
    },
  );

  it.each(WITHOUT_LIBSQL)(
    "reads the types of %s without those of libsql, which is not installed where it has no build",
    (name) => {
      expect(texts).toContainEqual(expect.stringContaining(`packages/${name}/dist/index.d.ts`));
      expect(texts.filter((text) => text.includes("/libsql/"))).toEqual([]);
    },
  );

  it.each(LIBRARIES)(
    "declares what an app exports of $name by that name alone: it need neither install nor import another",
    async ({ name, file, type }) => {
      const written = join(outDirOf(version), file.slice(root.length)).replace(/\.ts$/, ".d.ts");
      expect(await readFile(written, "utf8")).toMatch(
        new RegExp(`exported: import\\("${name}"\\)\\.${type}`),
      );
    },
  );

  it("says of a call of the client what is missing, and not that it has no anonymousId", () => {
    const text = said(appFile("client", "app.ts")).join("\n");
    const missing = [...text.matchAll(/Property '(\w+)' is missing/g)].map(([, field]) => field);
    expect(missing).toEqual(["properties", "event", "groupId", "userId"]);
  });

  it("has the same types on Fastify 4", () => {
    expect(said(appFile("fastify", "right.ts"))).toEqual([]);
    expect(said(appFile("fastify", "wrong.ts"))).toEqual([expect.stringContaining("TS2769")]);
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
    const project = {
      compilerOptions: {
        strict: true,
        target: "es2022",
        lib: ["es2023", "dom", "dom.iterable"],
        module: "nodenext",
        noEmit: true,
        listFiles: true,
        types: ["node"],
        typeRoots: [join(root, "node_modules/@types")],
      },
      files: entries,
    };
    const texts = await compileProjects("tests/node_modules/typescript-5.4/bin/tsc", [project]);
    expect(texts).toEqual(expect.arrayContaining(entries));
    const errors = texts.filter((text) => text.includes("error TS"));
    // The declarations of what the packages depend on may need a newer one.
    const ours = errors.filter((text) => text.startsWith("packages/") && !text.includes("/node_modules/"));
    expect(ours).toEqual([]);
    expect(errors.filter((text) => !/^(?:packages|node_modules)\//.test(text))).toEqual([]);
  },
);
