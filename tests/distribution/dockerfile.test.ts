import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { isWindows, noPosix } from "../../packages/core/test/support/windows.ts";
import { execForm, readStages, textsOf, type Stage } from "../../scripts/dockerfile.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const stages = readStages(`${root}Dockerfile`);
const final = stages.at(-1) as Stage;
const { packageManager } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
  packageManager: string;
};

// `npm run test:image` runs its steps.
describe("the image", () => {
  it("is slim, of a Node that the packages support, and built from a pinned release", () => {
    for (const { image } of stages) expect(image).toMatch(/^node:2[2-9]-bookworm-slim$/);
    expect(stages).toHaveLength(2);
  });

  it("has only what the command needs: no sources, no tools", () => {
    expect(textsOf(final, "COPY")).toEqual(["--from=build /app /app"]);
    expect(textsOf(final, "RUN").join("\n")).not.toMatch(/apt|npm|npx/);
  });

  it("runs as another user than root, and owns nothing but its data", () => {
    const names = final.instructions.map(({ name }) => name);
    expect(textsOf(final, "USER")).toEqual(["node"]);
    expect(names.indexOf("USER")).toBeGreaterThan(names.lastIndexOf("RUN"));
    expect(names.indexOf("USER")).toBeLessThan(names.indexOf("ENTRYPOINT"));
  });

  it("keeps data in a volume that its user may write to, and others may not read", () => {
    expect(textsOf(final, "VOLUME")).toEqual(["/data"]);
    expect(textsOf(final, "ENV").join(" ")).toContain("COUNTERSIGN_DATA=/data");
    expect(textsOf(final, "RUN")).toEqual(["mkdir /data && chown node:node /data && chmod 700 /data"]);
  });

  it("has a health check, and starts without a shell, so that signals arrive", () => {
    const [check = ""] = textsOf(final, "HEALTHCHECK");
    expect(check).toMatch(/^--interval=\S+ --timeout=\S+ --start-period=\S+ CMD \[/);
    expect(execForm(check).join(" ")).toContain("/healthz");
    expect(execForm(textsOf(final, "ENTRYPOINT")[0] ?? "")).toEqual(["node", "/app/dist/bin.js"]);
    expect(execForm(textsOf(final, "CMD")[0] ?? "")).toEqual(["serve"]);
  });

  it.skipIf(isWindows)(
    `has a health check without a second Node, which took longer than its time on a tenth of a processor${noPosix}`,
    async () => {
      const paths: (string | undefined)[] = [];
      let status = 200;
      const server = createServer((request, response) => {
        paths.push(request.url);
        response.writeHead(status).end();
      });
      onTestFinished(() => void server.close());
      await once(server.listen(0, "127.0.0.1"), "listening");
      const { port } = server.address() as AddressInfo;
      const [program = "", ...args] = execForm(textsOf(final, "HEALTHCHECK")[0] ?? "");
      expect(program).not.toBe("node");
      const here = args.map((text) => text.replaceAll("/4010", `/${port}`));
      const check = (): Promise<unknown> =>
        promisify(execFile)(program, here).then(
          () => "healthy",
          ({ code }: { readonly code: unknown }) => code,
        );
      expect(await check()).toBe("healthy");
      status = 503;
      expect(await check()).toBe(1);
      await once(server.close(), "close");
      expect(await check()).toBe(1);
      expect(paths).toEqual(["/healthz", "/healthz"]);
    },
  );

  it("is built with the pinned package manager, from the lockfile", () => {
    const runs = textsOf(stages[0] as Stage, "RUN").join("\n");
    expect([...runs.matchAll(/npx --yes (\S+)/g)].map(([, name]) => name)).toEqual(
      expect.arrayContaining([packageManager]),
    );
    expect([...runs.matchAll(/pnpm@[\d.]+/g)].every(([name]) => name === packageManager)).toBe(true);
    expect(runs).toContain("install --frozen-lockfile");
  });

  it("takes no secrets and no builds of this machine into its layers", () => {
    const ignored = readFileSync(`${root}.dockerignore`, "utf8").split("\n");
    expect(ignored).toEqual(expect.arrayContaining([".git", "**/node_modules", "**/dist", ".countersign"]));
    const texts = stages.flatMap(({ instructions }) => instructions.map(({ text }) => text)).join("\n");
    expect(texts).not.toMatch(/(?:SECRET|TOKEN)=/);
    expect(stages.flatMap((stage) => textsOf(stage, "ARG"))).toEqual([]);
  });
});
