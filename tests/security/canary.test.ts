import { createServer, type Server } from "node:http";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { printed, startCommand, startScript, type Child } from "./support/children.ts";
import { send, type Outgoing } from "./support/http.ts";

/** Everything that must not be shown, each with a text that stands nowhere else. */
const CANARIES = {
  secret: "canary-secret-5f2c",
  "secret of another destination": "canary-secret-of-the-api-91ab",
  "secret before the rotation": "canary-secret-before-77d1",
  "retired secret": "canary-secret-retired-0c3e",
  "write key": "canary-write-key-a6e4",
  token: "canary-token-d8b7",
  header: "canary-header-2e19",
} as const;
const SECRET = CANARIES.secret;
const KEY = CANARIES["write key"];
const HEADER = `Bearer ${CANARIES.header}`;

/** Each canary as it is, and in the forms in which requests and databases carry it. */
const forms = Object.entries(CANARIES).flatMap(([name, text]) => [
  [name, text] as const,
  [`${name} in hex`, Buffer.from(text).toString("hex")] as const,
  ...["", ":", `${text}:`].map(
    (around) =>
      [
        `${name} in base64`,
        Buffer.from(around === ":" ? `${text}:` : around + text)
          .toString("base64")
          .replace(/=+$/, ""),
      ] as const,
  ),
]);

let folder: string;
let echo: Server;
const children: Child[] = [];
/** Everything that anything has put out: by where it came from. */
const outputs: (readonly [where: string, text: string])[] = [];

const at = (path: string): string => join(folder, path);
const portOf = (server: Server): number => (server.address() as AddressInfo).port;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "countersign-canary-"));
  // A service that refuses everything, and repeats what it was sent.
  echo = createServer((request, response) => {
    response.writeHead(400, { "content-type": "application/json" });
    response.end(JSON.stringify({ code: "refused", message: "no", headers: request.headers }));
  });
  await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  for (const child of children) child.process.kill("SIGKILL");
  await Promise.all(children.map((child) => child.ended));
  echo.closeAllConnections();
  echo.close();
  await rm(folder, { recursive: true });
});

/** Runs a child to its end, or lets it run, and keeps what it prints. */
function keep(child: Child): Child {
  children.push(child);
  return child;
}

async function run(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input?: string,
): Promise<number> {
  const child = keep(startCommand(args, { cwd: folder, env, ...(input !== undefined && { input }) }));
  return Number(await child.ended);
}

async function request(url: string, path: string, outgoing: Outgoing = {}): Promise<string> {
  const { status, headers, text } = await send(url + path, outgoing);
  outputs.push([`${outgoing.method ?? "GET"} ${path}`, `${status} ${JSON.stringify(headers)}\n${text}`]);
  return text;
}

const withToken = { authorization: `Bearer ${CANARIES.token}` };

it("shows no secret, write key, token or static header in a full run", { timeout: 300_000 }, async () => {
  const receiver = keep(
    startScript("child-receiver.mjs", {
      cwd: folder,
      env: {
        RECEIVER_SECRET: SECRET,
        RECEIVER_SECRET_BEFORE: CANARIES["secret before the rotation"],
        RECEIVER_SECRET_RETIRED: CANARIES["retired secret"],
      },
    }),
  );
  const to = `http://127.0.0.1:${await printed(receiver, /port (\d+)/)}/webhooks`;
  const { server, url } = await serve(to);
  await record(url);
  await askEverything(url);
  await makeMistakes(url, to);
  await runCommands(to);
  server.process.kill("SIGTERM");
  await server.ended;
  receiver.process.kill("SIGTERM");
  await receiver.ended;

  expect(outputs.length).toBeGreaterThan(30);
  for (const child of children) outputs.push([child.name, child.output]);
  expect(shownIn(outputs)).toEqual([]);
  expect(await leakedFiles()).toEqual([]);
});

/** Starts the server by a config file, with everything that it can write to. */
async function serve(to: string): Promise<{ readonly server: Child; readonly url: string }> {
  const endpoints = [{ url: to, headers: { Authorization: HEADER } }];
  const failing = [{ url: `http://127.0.0.1:${portOf(echo)}/`, headers: { "X-Api-Key": HEADER } }];
  const config = {
    sources: [
      {
        name: "shop",
        writeKey: KEY,
        destinations: [
          { name: "good", endpoints, secret: SECRET },
          { name: "failing", endpoints: failing, secret: SECRET },
        ],
      },
    ],
  };
  await writeFile(at("countersign.config.json"), JSON.stringify(config), { mode: 0o600 });
  const server = keep(
    startCommand(["serve", "--port", "0", "--data", "data", "--record", "recording.jsonl"], {
      cwd: folder,
      env: { COUNTERSIGN_TOKEN: CANARIES.token },
    }),
  );
  return { server, url: await printed(server, /listens on (http:\S+)/) };
}

/** Records events with the client library, and by hand. */
async function record(url: string): Promise<void> {
  const env = {
    DEBUG: "analytics",
    CLIENT_KEY: KEY,
    CLIENT_ENDPOINT: url,
    CLIENT_ECHO: `http://127.0.0.1:${portOf(echo)}`,
  };
  const client = keep(startScript("child-client.mjs", { cwd: folder, env }));
  expect(await client.ended).toBe(0);
  const authorization = `Basic ${Buffer.from(`${KEY}:`).toString("base64")}`;
  const bodies: readonly object[] = [
    { writeKey: KEY, userId: "u1", event: "Canary Tested" },
    { writeKey: KEY, userId: "u1", event: "Make It Fail" },
    { writeKey: KEY, event: "Nobody" },
    { writeKey: KEY, userId: "u1", event: ["no text"] },
    { writeKey: `${KEY}, misspelt`, userId: "u1", event: "Another Key" },
  ];
  for (const body of bodies) {
    for (const strict of ["0", "1"]) {
      await request(url, "/v1/track", {
        method: "POST",
        headers: { "x-strict-mode": strict },
        body: JSON.stringify(body),
      });
    }
  }
  const batch = {
    writeKey: KEY,
    batch: [
      { type: "track", userId: "u1", event: "In A Batch" },
      { type: "track", writeKey: KEY },
    ],
  };
  await request(url, "/v1/batch", {
    method: "POST",
    headers: { authorization },
    body: JSON.stringify(batch),
  });
  await request(url, "/v1/batch", {
    method: "POST",
    headers: { authorization },
    body: `{"writeKey":"${KEY}",`,
  });
  await vi.waitFor(async () => {
    const { text } = await send(`${url}/api/deliveries`, { headers: withToken });
    const { deliveries } = JSON.parse(text) as { deliveries: { state: string }[] };
    const states = deliveries.map(({ state }) => state);
    expect(states).toEqual(expect.arrayContaining(["delivered", "failed"]));
  });
}

/** Reads everything that the server tells. */
async function askEverything(url: string): Promise<void> {
  const document = JSON.parse(await request(url, "/api/openapi.json", { headers: withToken })) as {
    readonly paths: Readonly<Record<string, object>>;
  };
  const plain = Object.entries(document.paths).filter(
    ([path, methods]) => "get" in methods && !path.includes("{"),
  );
  for (const [path] of plain) await request(url, path, { headers: withToken, streamFor: 300 });
  const { deliveries } = JSON.parse(await request(url, "/api/deliveries", { headers: withToken })) as {
    readonly deliveries: readonly { readonly id: string }[];
  };
  for (const { id } of deliveries) await request(url, `/api/deliveries/${id}`, { headers: withToken });
  for (const path of ["/", "/metrics", "/healthz", "/readyz"])
    await request(url, path, { headers: withToken });
}

/** Everything that goes wrong, with a credential in it. */
async function makeMistakes(url: string, to: string): Promise<void> {
  const secret = CANARIES["secret of another destination"];
  const headers = { ...withToken, "content-type": "application/json" };
  const put = (path: string, body: unknown): Promise<string> =>
    request(url, path, {
      method: "PUT",
      headers,
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  const destination = "/api/sources/shop/destinations/more";
  const endpoints = [{ url: to, headers: { Authorization: HEADER } }];
  await put(destination, { endpoints, secret, enabled: false });
  await put(destination, { endpoints: [], secret });
  await put(destination, { endpoints: [{ url: to, headers: { Authorization: `${HEADER}\nX: y` } }], secret });
  await put(destination, { endpoints: [{ url: to, headers: { Host: HEADER } }], secret });
  await put(destination, { endpoints: [{ url: `https://user:${secret}@example.com/` }] });
  await put(destination, { endpoints, sharedSecret: secret });
  await put(destination, { endpoints, secret: [secret] });
  await put(destination, `{"secret":"${secret}",`);
  await put("/api/sources/other", { writeKey: KEY });
  await request(url, "/api/sources", { headers: { authorization: `Bearer ${CANARIES.token}x` } });
  await request(url, `/api/sources?token=${CANARIES.token}`);
  await request(url, `/api/nothing?token=${CANARIES.token}`, { headers: withToken });
  await request(url, "/api/sources", { headers: { ...withToken, host: "evil.example" } });
  // Signed with a secret that has expired, and with white space around it; and by nobody.
  const body = JSON.stringify({ type: "track", userId: "u1", event: "Forged" });
  for (const forged of [CANARIES["retired secret"], `${SECRET} `, "another"]) {
    await run(["send", "track", "--to", to, "--secret", forged]);
  }
  await request(to, "", {
    method: "POST",
    headers: { "content-type": "application/json", "x-signature": "0".repeat(40) },
    body,
  });
  await askEverything(url);
}

/** The other commands, right and wrong. */
async function runCommands(to: string): Promise<void> {
  const env = { COUNTERSIGN_SECRET: SECRET };
  expect(await run(["send", "track", "--to", to, "--json"], env)).toBe(0);
  expect(await run(["send", "track", "--to", "http://127.0.0.1:9/"], env)).toBe(1);
  expect(await run(["certify", to, "--only", "forged", "--only", "nothing"], env)).toBe(2);
  await run(["certify", to, "--junit", "certify.xml", "--json"], env);
  await run(["certify", to, "--only", "accepts-track"], { COUNTERSIGN_SECRET: CANARIES["retired secret"] });
  expect(await run(["verify", "--signature", "0".repeat(40)], env, "{}")).toBe(1);
  expect(await run(["verify", "--json", "--signature", "nonsense"], env, "{}")).toBe(1);
  await run(["replay", "recording.jsonl", "--to", to, "--json"]);
  await run(["replay", "recording.jsonl", "--to", `http://127.0.0.1:${portOf(echo)}/`, "--secret", SECRET]);
  await writeFile(at("broken.jsonl"), `{"headers":{"authorization":"${HEADER}"}\n`, { mode: 0o600 });
  expect(await run(["replay", "broken.jsonl", "--to", to])).not.toBe(0);
  const configs: readonly object[] = [
    { to, sharedSecret: SECRET },
    { to, secret: [SECRET] },
    { to, secret: SECRET, sources: [] },
    {
      sources: [
        { name: "shop", writeKey: KEY, destinations: [{ endpoints: [{ url: to }], secret: [SECRET] }] },
      ],
    },
    { sources: [{ name: "shop", writeKey: [KEY], destinations: [] }] },
    { sources: [{ name: "shop", destinations: [{ endpoints: [{ url: to, headers: { Host: HEADER } }] }] }] },
  ];
  for (const config of configs) {
    await writeFile(at("wrong.config.json"), JSON.stringify(config), { mode: 0o600 });
    expect(await run(["serve", "--port", "0", "--config", "wrong.config.json"])).not.toBe(0);
  }
}

/** Which canaries stand in which outputs. */
function shownIn(texts: readonly (readonly [where: string, text: string])[]): readonly string[] {
  return texts.flatMap(([where, text]) =>
    forms.flatMap(([name, form]) => {
      const index = text.indexOf(form);
      if (index === -1) return [];
      return [
        `${name} in ${withoutCanaries(where)}: ${text.slice(Math.max(0, index - 60), index + form.length)}`,
      ];
    }),
  );
}

/** The arguments of a command are its user's own. */
function withoutCanaries(where: string): string {
  return Object.entries(CANARIES).reduce(
    (text, [name, canary]) => text.replaceAll(canary, `<${name}>`),
    where,
  );
}

/** Files that must hold credentials, and only those: the configs, what the server keeps, the recordings. */
const MAY_HOLD = /^(?:(?:countersign|wrong)\.config\.json|broken\.jsonl|recording\.jsonl|data\/.+)$/;

async function leakedFiles(): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true });
  const files = await Promise.all(
    names.map(async (name) => {
      const { mode } = await stat(at(name));
      const isFolder = (mode & 0o170000) === 0o040000;
      if (isFolder) return (mode & 0o77) === 0 ? [] : [`${name} is open to others`];
      const shown = shownIn([[name, await readFile(at(name), "latin1")]]);
      if (!MAY_HOLD.test(name)) return shown;
      return (mode & 0o77) === 0 ? [] : [`${name} is open to others`];
    }),
  );
  expect(names).toEqual(expect.arrayContaining(["recording.jsonl", "data/deliveries.db"]));
  return files.flat();
}
