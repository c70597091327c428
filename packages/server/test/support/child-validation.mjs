// Prints how many files of Ajv are loaded before and after a request whose parameters are validated, and what it is answered.
import { createRequire } from "node:module";
import { createServer } from "@countersign/server";

const { cache } = createRequire(import.meta.url);
const loaded = () => Object.keys(cache).filter((path) => /[/\\]node_modules[/\\]ajv[/\\]/.test(path)).length;

const server = await createServer({ to: "http://127.0.0.1:9/", secret: "dev", port: 0 });
const atStart = loaded();
const answers = [];
for (const limit of ["0", "1", "0"]) {
  const response = await fetch(`${server.url}/api/deliveries?limit=${limit}`);
  answers.push([response.status, (await response.json()).errors?.length ?? 0]);
}
process.stdout.write(JSON.stringify({ atStart, later: loaded(), answers }));
await server.close();
