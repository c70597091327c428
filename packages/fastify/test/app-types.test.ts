import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** What the compiler says of an app of its own: the types of this one must not be augmented for every other test. */
async function typeCheck(app: string, paths: Record<string, string[]> = {}): Promise<string[]> {
  const directory = await mkdtemp(join(root, "packages/fastify/node_modules/.unknown-types-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, "app.ts"), app);
  const compilerOptions = {
    composite: false,
    noEmit: true,
    paths,
    typeRoots: [join(root, "node_modules/@types")],
  };
  const tsconfig = { extends: join(root, "tsconfig.base.json"), compilerOptions, files: ["app.ts"] };
  await writeFile(join(directory, "tsconfig.json"), JSON.stringify(tsconfig));
  const output = await new Promise<string>((resolve) => {
    const args = ["-p", directory, "--pretty", "false"];
    execFile(join(root, "node_modules/.bin/tsc"), args, (_error, stdout) => resolve(stdout));
  });
  return output.split("\n").filter((line) => line.includes(": error TS"));
}

const augmentation = `
declare module "@countersign/fastify" {
  interface WebhookTypes { allowUnknownTypes: true }
}`;

const app = `
import { isTrack } from "@countersign/core";
import { verifyWebhook } from "@countersign/fastify";
import fastify from "fastify";

const app = fastify();
app.register(verifyWebhook, { secret: "secret", allowUnknownTypes: true });
app.post("/webhooks", async ({ webhook }) => {
  const type: "page" | "screen" | "identify" | "track" | "alias" | "group" | "delete" = webhook.message.type;
  return isTrack(webhook.message) ? webhook.message.event : type;
});`;

it("lets unknown types be allowed only where the app's types say so, and widens the message there", async () => {
  const [without, augmented] = await Promise.all([typeCheck(app), typeCheck(app + augmentation)]);
  expect(without).toEqual([expect.stringMatching(/^.*app\.ts\(7,\d+\): error TS2769: No overload matches/)]);
  expect(augmented).toEqual([
    expect.stringMatching(/^.*app\.ts\(9,\d+\): error TS2322: Type 'string' is not assignable/),
  ]);
});

it("has the same types on Fastify 4", async () => {
  const fastify4 = { fastify: [join(root, "packages/fastify/node_modules/fastify4")] };
  expect(await typeCheck(app.replace(", allowUnknownTypes: true", ""), fastify4)).toEqual([]);
  const wrong = app.replace("allowUnknownTypes: true", "secrets: []");
  expect(await typeCheck(wrong, fastify4)).toEqual([expect.stringContaining("TS2769")]);
});
