import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { certify, formatResult } from "@countersign/certify";
import { mutations, sampleMessages, signedRequest } from "@countersign/core/testing";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { isWindows, noPosix } from "../packages/core/test/support/windows.ts";
import { post } from "./support/post.ts";
import { freePort } from "./support/free-port.ts";

const SECRET = "the secret of the examples";
const root = fileURLToPath(new URL("..", import.meta.url));

interface Example {
  readonly origin: string;
  /** What it has printed. */
  readonly lines: readonly string[];
  stop(): Promise<void>;
}

/** Starts an example by its one command, and waits until it says that it listens. */
async function startExample(name: string): Promise<Example> {
  const port = await freePort();
  const child = spawn("npm", ["start", "--silent"], {
    cwd: `${root}/examples/${name}`,
    env: { ...process.env, PORT: String(port), WEBHOOK_SECRET: SECRET, TENANT_SECRETS: '{"acme":"theirs"}' },
    // A group of its own, so that what npm started ends with it.
    detached: true,
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (text: Buffer) => lines.push(...text.toString().trimEnd().split("\n")));
  }
  await vi.waitFor(
    () =>
      expect(lines).toContain(
        `Receiving webhooks at http://127.0.0.1:${port}/webhooks, signed with WEBHOOK_SECRET.`,
      ),
    { timeout: 100_000, interval: 100 },
  );
  lines.length = 0;
  return {
    origin: `http://127.0.0.1:${port}`,
    lines,
    async stop() {
      const ended = once(child, "close");
      if (child.pid !== undefined) process.kill(-child.pid);
      await ended;
    },
  };
}

const printed: Readonly<Record<string, readonly string[]>> = {
  express: [
    "page      /pricing",
    "screen    Home on Pixel 9",
    'identify  u-1842 is {"email":"ada@example.com","plan":"pro","logins":5}',
    'track     Order Completed {"orderId":"o-77","total":41.5,"currency":"EUR"}',
    "alias     anonymous-3f2a is u-1842",
    "group     u-1842 belongs to g-12",
    "delete    u-1842",
  ],
  fastify: [
    "page, verified over its bytes",
    "screen, verified over its bytes",
    'identify {"email":"ada@example.com","plan":"pro","logins":5}',
    "track Order Completed",
    "alias, verified over its bytes",
    "group g-12",
    "delete, verified over its bytes",
  ],
  koa: [
    "a page that nothing waits for",
    "a screen that nothing waits for",
    'user u-1842: {"email":"ada@example.com","plan":"pro","logins":5}',
    "event Order Completed",
    "user u-1842 has a new id",
    "a group that nothing waits for",
    "user u-1842: to be forgotten",
  ],
  nest: [
    "page of u-1842",
    "screen of u-1842",
    'identify {"email":"ada@example.com","plan":"pro","logins":5}',
    "track Order Completed",
    "alias of u-1842",
    "group of u-1842",
    "delete of u-1842",
  ],
  hono: ["page", "screen", "identify", "track", "alias", "group", "delete"].map(
    (type) => `app: ${type} of u-1842`,
  ),
};

const received = sampleMessages.track;

/** What each example shows besides. */
const besides: Readonly<Record<string, { title: string; check: (example: Example) => Promise<void> }>> = {
  express: {
    title: "rejects a message that was tampered with",
    async check({ origin, lines }) {
      const tampered = mutations.tampered(signedRequest(received, SECRET));
      expect((await post(`${origin}/webhooks`, tampered)).status).toBe(401);
      await vi.waitFor(() => expect(lines.at(-1)).toMatch(/^rejected {2}ERR_SIGNATURE_MISMATCH: /));
      expect(lines.slice(0, -1)).toEqual(printed["express"]);
    },
  },
  fastify: {
    title: "still parses JSON on its ordinary route",
    async check({ origin }) {
      const headers = { "content-type": "application/json" };
      const answer = await post(`${origin}/notes`, { headers, body: '{"a":1}' });
      expect(answer.body).toEqual({ noted: { a: 1 } });
    },
  },
  nest: {
    title: "still parses JSON on its ordinary route",
    async check({ origin }) {
      const headers = { "content-type": "application/json" };
      const answer = await post(`${origin}/notes`, { headers, body: '{"a":1}' });
      expect(answer.body).toEqual({ noted: { a: 1 } });
    },
  },
  koa: {
    title: "handles neither a delivery twice, nor an event that does not fit",
    async check({ origin, lines }) {
      expect((await post(`${origin}/webhooks`, signedRequest(received, SECRET))).status).toBe(200);
      const event = { ...received, event: "Invoice Paid", messageId: "i-1" };
      const unfit = { ...event, properties: { invoiceId: "i-1", total: "41" } };
      expect((await post(`${origin}/webhooks`, signedRequest(unfit, SECRET))).status).toBe(422);
      const fit = { ...event, properties: { invoiceId: "i-1", total: 41 } };
      expect((await post(`${origin}/webhooks`, signedRequest(fit, SECRET))).status).toBe(204);
      await vi.waitFor(() =>
        expect(lines).toEqual([
          ...(printed["koa"] ?? []),
          expect.stringMatching(/^refused ERR_INVALID_MESSAGE: /),
          "invoice i-1: 41",
        ]),
      );
    },
  },
  hono: {
    title: "takes a tenant's own secret, and no other",
    async check({ origin, lines }) {
      const url = `${origin}/tenants/acme/webhooks`;
      expect((await post(url, signedRequest(received, "theirs"))).status).toBe(204);
      expect((await post(url, signedRequest(received, SECRET))).status).toBe(401);
      await vi.waitFor(() => expect(lines.join("\n")).toContain("acme: track of u-1842\nrefused: ERR_"));
    },
  },
};

const examples = Object.entries(besides).map(([name, rest]) => ({ name, ...rest }));

describe.skipIf(isWindows).each(examples)(`examples/$name, which $title${noPosix}`, ({ name, check }) => {
  let example: Example;
  beforeAll(async () => {
    example = await startExample(name);
  });
  afterAll(() => example.stop());

  it("starts by npm start, and prints each of the seven messages", async () => {
    for (const message of Object.values(sampleMessages)) {
      expect((await post(`${example.origin}/webhooks`, signedRequest(message, SECRET))).status).toBe(204);
    }
    await vi.waitFor(() => expect(example.lines).toEqual(printed[name]));
  });

  it("does so", async () => {
    await expect(check(example)).resolves.toBeUndefined();
  });

  it("passes every audit", async () => {
    const { results } = await certify({ url: `${example.origin}/webhooks`, secret: SECRET });
    const others = results.filter(({ outcome }) => outcome !== "passed");
    expect(others.map((result) => formatResult(result))).toEqual([]);
  });
});

/** An app as the runtime of Workers calls it. What it throws, the runtime answers with 500. */
interface Worker {
  fetch(request: Request, env: object): Response | Promise<Response>;
}

describe("a Worker without its secret does not lose messages by a 401, which is final", () => {
  const request = (): Request => new Request("http://localhost/webhooks", signedRequest(received, SECRET));

  it("in examples/workers", async () => {
    const file = `${root}examples/workers/src/worker.ts`;
    const { default: worker } = (await import(file)) as { readonly default: Worker };
    await expect(worker.fetch(request(), {})).rejects.toThrow("WEBHOOK_SECRET is not set");
  });

  it("in examples/hono", async () => {
    const file = `${root}examples/hono/src/app.ts`;
    const { createApp } = (await import(file)) as { readonly createApp: (log: () => void) => Worker };
    const logged = vi.spyOn(console, "error").mockReturnValue();
    expect((await createApp(() => {}).fetch(request(), {})).status).toBe(500);
    expect(logged).toHaveBeenCalledWith(expect.objectContaining({ message: "WEBHOOK_SECRET is not set" }));
    logged.mockRestore();
  });
});
