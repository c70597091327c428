import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer, type CountersignServer } from "@countersign/server";
import { beforeEach, describe, expect, it } from "vitest";
import { apiCaller } from "../support/api-caller.ts";
import { readEvents } from "../support/event-reader.ts";
import { portOf, SECRET, startReceiver, type Receiver } from "../support/receiver.ts";
import { closing } from "../../../../tests/support/resources.ts";

const AUTHORIZATION = "Bearer canary-token";

let receiver: Receiver;
let server: CountersignServer;
const { call } = apiCaller(() => server);

beforeEach(async () => {
  receiver = closing(await startReceiver());
  const endpoints = [{ url: receiver.url, headers: { Authorization: AUTHORIZATION } }];
  const destinations = [{ name: "webhooks", endpoints, secret: SECRET }];
  server = closing(await createServer({ sources: [{ name: "default", destinations }], port: 0 }));
});

async function ended(id: string): Promise<{ state: string; results: unknown[] }> {
  await expect
    .poll(async () => ((await call("GET", `/certifications/${id}`)).json() as { state: string }).state)
    .not.toBe("running");
  return (await call("GET", `/certifications/${id}`)).json() as { state: string; results: unknown[] };
}

describe("audits through the API", () => {
  it("are listed, run against an endpoint of the settings, and told one by one", async () => {
    const reader = await readEvents(server.url);
    const known = ((await call("GET", "/audits")).json() as { id: string }[]).map(({ id }) => id);
    const only = known.filter((id) => /tampered/.test(id) || id === known[0]);
    const started = await call("POST", "/certify", { destination: "default/webhooks", only });
    expect([started.status, started.json()]).toMatchObject([
      202,
      { url: receiver.url, state: "running", total: only.length, results: [] },
    ]);
    const { id } = started.json() as { id: string };
    const end = await ended(id);
    expect(end).toMatchObject({ state: "done", passed: true, tally: { MUST: { failed: 0 } } });
    expect(end.results).toHaveLength(only.length);
    const told = () => reader.events().filter(({ event }) => event === "audit" || event === "certified");
    await expect.poll(() => told().length).toBe(only.length + 1);
    expect(told().at(-1)).toMatchObject({ event: "certified", certification: { id, passed: true } });
  });

  it("show what a receiver got and answered when one fails, but no secret and no static header", async () => {
    // It answers 2xx to everything, and repeats what it was sent.
    const echo = createHttpServer((request, response) => {
      request.resume();
      request.on("end", () => response.end(`${JSON.stringify(request.headers)} ${SECRET}`));
    });
    await once(closing(echo).listen(0, "127.0.0.1"), "listening");
    const endpoints = [
      { url: `http://127.0.0.1:${portOf(echo)}/`, headers: { Authorization: AUTHORIZATION } },
    ];
    await call("PUT", "/sources/default/destinations/webhooks", { endpoints });
    const reader = await readEvents(server.url);
    const { id } = (
      await call("POST", "/certify", { destination: "default/webhooks", only: ["rejects-tampered-body"] })
    ).json() as { id: string };
    const end = await ended(id);
    expect(end).toMatchObject({
      state: "done",
      passed: false,
      results: [{ outcome: "failed", failure: { fix: expect.any(String), sent: expect.any(String) } }],
    });
    await expect.poll(() => reader.names()).toContain("certified");
    const shown = JSON.stringify([end, reader.events()]);
    expect(shown).toContain("(hidden)");
    expect(shown).not.toContain("canary-token");
    expect(shown).not.toContain(SECRET);
  });

  it.each(["169.254.169.254", "[::ffff:169.254.169.254]", "[fd00:ec2::254]"])(
    "do not call %s, whose answer would have the credentials of this machine",
    async (host) => {
      const started = await call("POST", "/certify", { url: `http://${host}/latest`, secret: SECRET });
      const { id } = started.json() as { id: string };
      expect(await ended(id)).toMatchObject({
        state: "failed",
        error: expect.stringContaining("is a link-local or cloud metadata address, which is never called"),
        results: [],
      });
    },
  );

  it("run one receiver at a time, and can be stopped", async () => {
    const { id } = (await call("POST", "/certify", { url: receiver.url, secret: SECRET })).json() as {
      id: string;
    };
    const second = await call("POST", "/certify", { destination: "default/webhooks" });
    expect([second.status, second.json()]).toMatchObject([409, { detail: expect.stringContaining(id) }]);
    expect((await call("DELETE", `/certifications/${id}`)).json()).toMatchObject({ state: "cancelled" });
    expect((await call("DELETE", `/certifications/${id}`)).json()).toMatchObject({ state: "cancelled" });
    // It gives no answer, so that its audits go on.
    const silent = createHttpServer(() => {});
    await once(closing(silent).listen(0, "127.0.0.1"), "listening");
    const url = `http://127.0.0.1:${portOf(silent)}/`;
    expect((await call("POST", "/certify", { url, secret: SECRET })).status).toBe(202);
    expect((await call("GET", "/certifications")).json()).toMatchObject([{ state: "running" }, { id }]);
  });

  it("of a receiver that is not there fail with the reason", async () => {
    const { id } = (
      await call("POST", "/certify", { url: "http://127.0.0.1:9/", secret: SECRET })
    ).json() as { id: string };
    expect(await ended(id)).toMatchObject({ state: "failed", error: expect.stringContaining("127.0.0.1:9") });
  });

  it("are refused with a pointer when they are described wrongly", async () => {
    const cases: [object, number, string | undefined][] = [
      [{}, 422, "/url"],
      [{ url: "ftp://x/", secret: "s" }, 422, "/url"],
      [{ url: receiver.url }, 422, "/secret"],
      [{ destination: "none" }, 404, undefined],
      [{ destination: "default/webhooks", endpoint: "http://127.0.0.1:9/other" }, 404, undefined],
      [{ destination: "default/webhooks", only: ["nonsense"] }, 422, "/only/0"],
      [{ destination: "default/webhooks", language: "cobol" }, 400, "/language"],
      // Otherwise it would be a guess which receiver gets well over a hundred messages.
      [{ destination: "default/webhooks", url: "http://127.0.0.1:9/" }, 422, "/url"],
      [{ destination: "default/webhooks", headers: { "X-Team": "shop" } }, 422, "/headers"],
      [{ destination: "default/webhooks", ca: "PEM" }, 422, "/ca"],
      [{ url: receiver.url, secret: SECRET, endpoint: "http://127.0.0.1:9/" }, 422, "/endpoint"],
    ];
    for (const [body, status, pointer] of cases) {
      const answer = await call("POST", "/certify", body);
      const { errors } = answer.json() as { errors?: { pointer: string }[] };
      expect([answer.status, errors?.[0]?.pointer]).toEqual([status, pointer]);
    }
    expect((await call("GET", "/certifications/none")).status).toBe(404);
    expect((await call("DELETE", "/certifications/none")).status).toBe(404);
  });
});
