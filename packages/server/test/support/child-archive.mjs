// Starts a server where directory entries do not know their folder, as in the archives of Yarn's Plug'n'Play, and asks for its page.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const { readdirSync } = fs;
fs.readdirSync = (path, options) => {
  const entries = readdirSync(path, options);
  if (options?.withFileTypes) for (const entry of entries) [entry.parentPath, entry.path] = ["", ""];
  return entries;
};
syncBuiltinESMExports();

const { createServer } = await import("@countersign/server");
const server = await createServer({ to: "http://127.0.0.1:9/", port: 0 });
const page = await fetch(server.url);
const files = [...(await page.text()).matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path);
const answers = await Promise.all(files.map((path) => fetch(server.url + path)));
await server.close();
process.stdout.write(JSON.stringify({ page: page.status, files, ok: answers.every(({ ok }) => ok) }));
