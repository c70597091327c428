import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { inspect } from "node:util";
import {
  createSender,
  maskSettings,
  SettingsError,
  sqliteStore,
  type SenderSettings,
} from "@countersign/sender";
import { describe, expect, it } from "vitest";
import { isWindows, noPosix } from "../../core/test/support/windows.ts";
import { openSender } from "./support/open-sender.ts";
import { silentTransport } from "./support/silent-transport.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const ENDPOINT_URL = "http://127.0.0.1:9/";

function modes(folder: string): Record<string, string> {
  const files = readdirSync(folder).map((name) => [
    name,
    (statSync(join(folder, name)).mode & 0o777).toString(8),
  ]);
  return Object.fromEntries(files) as Record<string, string>;
}

const ALL_PRIVATE = {
  "deliveries.db": "600",
  "deliveries.db-lock": "600",
  "deliveries.db-shm": "600",
  "deliveries.db-wal": "600",
};

describe.skipIf(isWindows)(`nobody but the owner reads what a store keeps about people${noPosix}`, () => {
  it("its database, log, index and lock have mode 0600, and the folders it creates 0700, with any umask", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "data", "deep", "deliveries.db");
    const script = `
      process.umask(0);
      const { createSender, sqliteStore } = await import(${JSON.stringify(new URL("../dist/index.js", import.meta.url))});
      const { readdirSync, statSync } = await import("node:fs");
      const sender = await createSender({ url: "${ENDPOINT_URL}", store: sqliteStore({ path: ${JSON.stringify(path)} }) });
      await sender.track({ userId: "u1", event: "A" });
      const mode = (name) => (statSync(name).mode & 0o777).toString(8);
      const files = readdirSync(${JSON.stringify(join(folder, "data", "deep"))});
      console.log(JSON.stringify([
        ...[${JSON.stringify(join(folder, "data"))}, ${JSON.stringify(join(folder, "data", "deep"))}].map(mode),
        Object.fromEntries(files.map((name) => [name, mode(${JSON.stringify(join(folder, "data", "deep"))} + "/" + name)])),
      ]));
      await sender.close({ deadline: 0 });
    `;
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [
      "--input-type=module",
      "--eval",
      script,
    ]);
    expect(JSON.parse(stdout)).toEqual(["700", "700", ALL_PRIVATE]);
    expect(stderr).toBe("");
  });

  it("files that an earlier version left readable become private", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "deliveries.db");
    await (
      await createSender({ url: ENDPOINT_URL, store: sqliteStore({ path }), transport: silentTransport() })
    ).close({ deadline: 0 });
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644);
    const sender = await openSender({
      url: ENDPOINT_URL,
      store: sqliteStore({ path }),
      transport: silentTransport(),
    });
    await sender.track({ userId: "u1", event: "A" });
    expect(modes(folder)).toEqual(ALL_PRIVATE);
  });

  it("a file of another program keeps its permissions", async () => {
    const path = join(temporaryFolder(), "notes.txt");
    writeFileSync(path, "x".repeat(10_000));
    // Whatever the umask is.
    chmodSync(path, 0o644);
    await expect(createSender({ url: ENDPOINT_URL, store: sqliteStore({ path }) })).rejects.toMatchObject({
      code: "ERR_STORE_CORRUPT",
    });
    expect((statSync(path).mode & 0o777).toString(8)).toBe("644");
  });

  it("an existing folder is not changed, and gives one warning when others can read it", async () => {
    const folder = join(temporaryFolder(), "shared");
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    const script = `
      const { createSender, sqliteStore } = await import(${JSON.stringify(new URL("../dist/index.js", import.meta.url))});
      for (const name of ["a.db", "b.db"]) {
        const sender = await createSender({ url: "${ENDPOINT_URL}", store: sqliteStore({ path: ${JSON.stringify(folder)} + "/" + name }) });
        await sender.close({ deadline: 0 });
      }
    `;
    const { stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script]);
    expect(stderr.match(/SecurityWarning/gu)).toHaveLength(1);
    expect(stderr).toContain(
      `[COUNTERSIGN_NOT_PRIVATE] SecurityWarning: The folder ${folder} of the store can be read by other users.`,
    );
    expect((statSync(folder).mode & 0o777).toString(8)).toBe("755");
  });

  it("files on a file system that keeps no permissions give one warning, and none says that others cannot read them", async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o755);
    for (const name of ["deliveries.db", "deliveries.db-lock"]) {
      writeFileSync(join(folder, name), "");
      chmodSync(join(folder, name), 0o755);
    }
    const script = `
      import fs from "node:fs";
      import { syncBuiltinESMExports } from "node:module";
      fs.chmodSync = () => {};
      syncBuiltinESMExports();
      const { createSender, sqliteStore } = await import(${JSON.stringify(new URL("../dist/index.js", import.meta.url))});
      const sender = await createSender({ url: "${ENDPOINT_URL}", store: sqliteStore({ path: ${JSON.stringify(join(folder, "deliveries.db"))} }) });
      await sender.close({ deadline: 0 });
    `;
    const { stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script]);
    expect(stderr.match(/SecurityWarning/gu)).toHaveLength(1);
    expect(stderr).toContain(
      `The files in ${folder} can be read by other users, since their file system keeps no permissions.`,
    );
  });
});

describe("credentials are not shown", () => {
  const settings: SenderSettings = {
    sources: [
      {
        name: "shop",
        destinations: [
          {
            endpoints: [
              {
                url: ENDPOINT_URL,
                headers: { Authorization: "Bearer canary-1", "X-Api-Key": "canary-2", "X-Team": "data" },
              },
            ],
            secret: "canary-3",
          },
        ],
      },
    ],
  };

  it("in settings that are logged, which programs still read as they are", async () => {
    const sender = await openSender(settings);
    const shown = inspect(sender.settings, { depth: 10 }) + inspect(sender, { depth: 10, showHidden: true });
    expect(shown).not.toContain("canary");
    expect(shown).toContain("'X-Team': 'data'");
    expect(sender.settings).toEqual(settings);
    expect(maskSettings(sender.settings)).toMatchObject({
      sources: [
        {
          destinations: [
            {
              secret: "***",
              endpoints: [
                {
                  url: ENDPOINT_URL,
                  headers: { Authorization: "***", "X-Api-Key": "***", "X-Team": "data" },
                },
              ],
            },
          ],
        },
      ],
    });
  });

  it.each<[string, object]>([
    ["a header with a line break", { headers: { Authorization: "Bearer canary\r\n" } }],
    [
      "a header listed twice",
      { headers: { Authorization: "Bearer canary", authorization: "Bearer canary" } },
    ],
    ["a header written into its name", { headers: { "Authorization: Bearer canary": "" } }],
    ["a header of another kind", { headers: { Authorization: ["canary"] } }],
    ["a password in the URL", { url: "https://user:canary@example.com/" }],
    ["a setting that is a secret", { url: ENDPOINT_URL, secret: { canary: true } }],
  ])("in what is said of %s", async (_name, wrong) => {
    const error: unknown = await createSender({ url: ENDPOINT_URL, ...wrong }).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(SettingsError);
    expect(inspect(error, { depth: 10 })).not.toContain("canary");
  });

  it.each([
    "https://user:canary@example.com/",
    "https://:canary@example.com/",
    "https://canary@example.com/",
  ])("in what is said of a URL passed as a text: %s", async (text) => {
    // @ts-expect-error -- it is an option
    const error: unknown = await createSender(text).catch((reason: unknown) => reason);
    expect(String(error)).toContain("https://example.com/");
    expect(String(error)).not.toContain("canary");
  });

  it("in the log of an attempt whose transport failed", async () => {
    const sender = await openSender({
      ...settings,
      transport: { send: () => Promise.reject(new Error("no route")), close: () => Promise.resolve() },
    });
    const receipt = await sender.track({ userId: "u1", event: "A" });
    const attempts = await sender.expect(receipt).attempts(1);
    expect(inspect([attempts, await sender.deliveries(), await sender.stats()], { depth: 10 })).not.toContain(
      "canary",
    );
  });
});
