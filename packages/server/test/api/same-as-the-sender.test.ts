import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createServer, type CountersignServer } from "@countersign/server";
import { beforeEach, describe, expect, it } from "vitest";
import { apiCaller } from "../support/api-caller.ts";
import { closing } from "../../../../tests/support/resources.ts";

const ENDPOINT = "http://127.0.0.1:9/hooks";
const MISREAD_KEYS = new URL("../../../../tests/support/misread-keys.mjs", import.meta.url).href;
const STORES_CALL = fileURLToPath(new URL("../support/child-stores-call.mjs", import.meta.url));

let server: CountersignServer;
const { call } = apiCaller(() => server);

/** The answer to a body that is sent as it is written. */
const answered = (method: string, path: string, body: string): Promise<Response> =>
  fetch(`${server.url}/api/${path}`, { method, headers: { "content-type": "application/json" }, body });

describe("what the API says and takes is what the sender does", () => {
  beforeEach(async () => {
    const endpoints = [{ url: ENDPOINT, headers: { "X-Team": "shop" } }];
    // As a config file in JSON may have them. Null counts as absent.
    const absent = { secret: null, concurrency: null, includeFields: null } as object;
    const sources = [{ name: "shop", destinations: [{ endpoints, ...absent }] }];
    server = closing(await createServer({ sources, port: 0 }));
  });

  it("a destination whose secret is null is not shown as signed", async () => {
    const [source] = (await call("GET", "/sources")).json() as [{ readonly destinations: readonly object[] }];
    expect(source.destinations[0]).toMatchObject({ signed: false });
    expect(server.sender.settings.sources[0]?.destinations[0]).not.toHaveProperty("secret");
  });

  it("a hidden header is known again in any case of its name, which are the same header", async () => {
    const endpoints = [{ url: ENDPOINT, headers: { "x-team": "(hidden)" } }];
    expect((await call("PUT", "/sources/shop/destinations/webhooks", { endpoints })).status).toBe(200);
    expect(server.sender.settings.sources[0]?.destinations[0]?.endpoints[0]?.headers).toEqual({
      "x-team": "shop",
    });
  });

  it("a message with __proto__ or constructor among its properties is taken, and sent as it is", async () => {
    const properties = '{"__proto__":{"isAdmin":true},"constructor":{"prototype":1}}';
    const body = JSON.parse(
      `{"type":"track","userId":"u1","event":"E","properties":${properties}}`,
    ) as object;
    const answer = await call("POST", "/messages", body);
    expect(answer.status).toBe(201);
    const { messageId } = answer.json() as { readonly messageId: string };
    const [delivery] = await server.sender.deliveries({ messageId });
    expect(Buffer.from(delivery?.body ?? []).toString()).toContain(`"properties":${properties}`);
    expect(Object.hasOwn(Object.prototype, "isAdmin")).toBe(false);
  });

  it("a key with an escape is stored as it is, as under /v1, where JSON.parse would take it for another one", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ["--import", MISREAD_KEYS, STORES_CALL]);
    expect(stdout).toBe('201 {"café":"crème"}');
  });

  it.each([
    ["", /is empty/],
    ["{", /is not JSON: /],
  ])("a body that is not JSON is refused, with what to do: %j", async (body, said) => {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${server.url}/api/messages`, { method: "POST", headers, body });
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ detail: expect.stringMatching(said) as string }),
    ]);
  });

  it.each([
    [
      "9007199254740993",
      "/properties/order",
      '"userId":"u1","properties":{"name":"1e400","order":9007199254740993}',
    ],
    ["9007199254740993", "/userId", '"userId":9007199254740993'],
    ["-1E+400", "/properties/a~1b/1", '"userId":"u1","properties":{"a/b":[1,-1E+400]}'],
  ])(
    "a number that JavaScript does not keep is refused, since another one was sent: %s at %s",
    async (number, pointer, fields) => {
      const body = `{"type":"track","event":"E",${fields}}`;
      const answer = await answered("POST", "messages", body);
      expect([answer.status, await answer.json()]).toMatchObject([400, { errors: [{ pointer }] }]);
      expect(await server.sender.count()).toBe(0);
      const kept = body.replace(`"userId":${number}`, '"userId":"u1"').replace(number, "41.5");
      expect((await answered("POST", "messages", kept)).status).toBe(201);
    },
  );

  it("a number of a computed trait that JavaScript does not keep is refused, too", async () => {
    const answerTo = (values: string): Promise<Response> =>
      answered("PUT", "computed-traits/last-order", `{"values":${values}}`);
    const answer = await answerTo('{"u1":[9007199254740993]}');
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { errors: [{ pointer: "/values/u1/0" }] },
    ]);
    expect(await server.sender.count()).toBe(0);
    expect((await answerTo('{"u1":[41.5]}')).status).toBe(200);
  });

  it("a body that is not UTF-8 is refused, as under /v1, and not sent with other characters", async () => {
    const body = Buffer.from('{"type":"track","userId":"\xff","event":"E"}', "latin1");
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${server.url}/api/messages`, { method: "POST", headers, body });
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ detail: "The body is not valid UTF-8." }),
    ]);
    expect(await server.sender.count()).toBe(0);
  });

  it.each(["2026-06-30T23:59:60Z", "2026-02-30T00:00:00Z", "2026-01-31", "2026-01-31T24:00:00Z"])(
    "a time that is none is refused as such, and is neither a failure of the server nor no filter: %s",
    async (since) => {
      for (const path of ["/deliveries", "/deliveries/count", "/skipped"]) {
        const answer = await call("GET", `${path}?since=${since}`);
        expect([path, answer.status, answer.json()]).toEqual([
          path,
          400,
          expect.objectContaining({
            errors: [{ parameter: "since", detail: "must be a date and time such as 2026-01-31T08:30:00Z." }],
          }),
        ]);
      }
      expect((await call("POST", "/deliveries/resend", { filter: { since } })).status).toBe(400);
    },
  );
});

it("names that no URL can carry are refused by the sender, so the API can change every source", async () => {
  for (const name of [".", "..", "a\ud800", "a/b"]) {
    await expect(createServer({ sources: [{ name, destinations: [] }], port: 0 })).rejects.toThrow(
      "sources[0].name",
    );
  }
});
