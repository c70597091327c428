import { CALL_TYPES, OBJECT_FIELDS, TEXT_FIELDS, type CallType } from "@countersign/protocol";
import { createServer, type CountersignServer } from "@countersign/server";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, it } from "vitest";
import { interpretRequest, type IngestRequest } from "../../src/ingest/interpret-request.ts";
import { ingestApi, openApi, type OpenApi } from "../support/described-answers.ts";
import { send } from "../support/http.ts";
import { closing } from "../../../../tests/support/resources.ts";

let document: OpenApi;

beforeAll(async () => {
  document = await ingestApi();
});

async function startServer(): Promise<CountersignServer> {
  return closing(await createServer({ to: "http://127.0.0.1:9/", writeKey: "WK", token: "t", port: 0 }));
}

describe("the document", () => {
  it("is for everybody, with any origin and without the token", async () => {
    const { url } = await startServer();
    const headers = { origin: "https://shop.example" };
    const answer = await send(`${url}/v1/openapi.json`, { headers });
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toContain("application/json");
    expect(answer.headers["access-control-allow-origin"]).toBe("https://shop.example");
    expect(answer.json()).toEqual(document);
    const head = await send(`${url}//v1/openapi.json/`, { method: "HEAD", headers });
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(head.headers["content-length"]).toBe(answer.headers["content-length"]);
    const post = await send(`${url}/v1/openapi.json`, { method: "POST", body: {} });
    expect([post.status, post.headers.allow]).toEqual([405, "GET, HEAD, OPTIONS"]);
    expect(post.json()).toMatchObject({ message: "Use GET or HEAD" });
  });

  it("has the methods of each path that are not answered 405, and no others", async () => {
    const { url } = await startServer();
    for (const [path, operations] of Object.entries(document.paths))
      for (const method of ["DELETE", "GET", "PATCH", "POST", "PUT"]) {
        const { status } = await send(url + path.replace("{writeKey}", "WK"), { method });
        const isDescribed = Object.hasOwn(operations, method.toLowerCase());
        expect([method, path, status === 405]).toEqual([method, path, !isDescribed]);
      }
  });

  it("describes each operation under a name of its own, as that of the control API does", async () => {
    for (const { paths } of [document, await openApi()]) {
      const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
      const ids = operations.map(({ operationId }) => operationId);
      expect(new Set(ids).size).toBe(ids.length);
      for (const { operationId, summary, description } of operations) {
        expect([operationId, summary]).toEqual([operationId, expect.stringMatching(/\w/)]);
        expect([operationId, description]).toEqual([operationId, expect.stringMatching(/^[`A-Z].*\.$/i)]);
      }
    }
  });
});

/** What fields may contain, right or wrong. */
const VALUES: readonly unknown[] = [
  null,
  "",
  "x",
  5,
  true,
  {},
  { a: 1 },
  [],
  [1],
  "x".repeat(99),
  "x".repeat(100),
];

/** With what a call of any type is complete. */
const COMPLETE = { userId: "u", event: "e", groupId: "g", previousId: "p" };

/** Calls in which one field is another, or both identities are. */
const CALLS: readonly Readonly<Record<string, unknown>>[] = [
  COMPLETE,
  ...[...TEXT_FIELDS, ...OBJECT_FIELDS, "timestamp"].flatMap((field) =>
    // Which texts are times, no schema says.
    VALUES.filter((value) => field !== "timestamp" || typeof value !== "string").map((value) => ({
      ...COMPLETE,
      [field]: value,
    })),
  ),
  ...VALUES.flatMap((userId) => VALUES.map((anonymousId) => ({ ...COMPLETE, userId, anonymousId }))),
  ...Object.keys(COMPLETE).map((missing) =>
    Object.fromEntries(Object.entries(COMPLETE).filter(([field]) => field !== missing)),
  ),
  { anonymousId: "a", event: 1, groupId: 2, previousId: 3 },
];

const compiled = new Map<string, ValidateFunction>();

/** Whether a body is as the schema of a component says. */
function matches(name: string, body: unknown): boolean {
  let validate = compiled.get(name);
  if (!validate) {
    const ajv = new Ajv2020({
      strict: true,
      allowUnionTypes: true,
      keywords: ["components"],
      discriminator: false,
    });
    ajv.addKeyword("discriminator");
    validate = ajv.compile({ $ref: `#/components/schemas/${name}`, components: document.components });
    compiled.set(name, validate);
  }
  return validate(body);
}

async function isTaken(kind: IngestRequest["kind"], body: unknown): Promise<boolean> {
  const read = await interpretRequest({ kind, body, receivedAt: 0 });
  return read.ok && read.rejections.length === 0;
}

function nameOf(type: CallType): string {
  return `${type.charAt(0).toUpperCase()}${type.slice(1)}Call`;
}

function pages(count: number): readonly object[] {
  return Array.from({ length: count }, () => ({ type: "page", userId: "u" }));
}

describe("the schemas of requests match what is taken and nothing that is rejected for its fields", () => {
  it.each(CALL_TYPES)("for %s calls", async (type) => {
    let taken = 0;
    for (const call of CALLS) {
      const isRight = await isTaken(type, call);
      if (isRight) taken += 1;
      expect([call, matches(nameOf(type), call)]).toEqual([call, isRight]);
    }
    expect([taken > 10, CALLS.length - taken > 10]).toEqual([true, true]);
  });

  it.each([...CALL_TYPES, "delete", "Track", "", null, undefined])(
    "for a message of type %j in a batch",
    async (type) => {
      for (const call of CALLS) {
        const batch = { batch: [{ ...call, type }] };
        expect([batch, matches("Batch", batch)]).toEqual([batch, await isTaken("batch", batch)]);
      }
    },
  );

  it.each<[string, unknown]>([
    ["none", {}],
    ["none that is a list", { batch: {} }],
    ["an empty one", { batch: [] }],
    ["no object around it", []],
    ["2,500 messages", { batch: pages(2_500) }],
    ["2,501 messages", { batch: pages(2_501) }],
    ["an id that is too long", { batch: [], messageId: "x".repeat(100) }],
    ["what is no message", { batch: [null] }],
    [
      "forms of several clients",
      {
        batch: [
          {
            type: "identify",
            userId: 7,
            anonymousId: null,
            traits: [],
            _metadata: {},
            sentAt: "2026-01-31T08:30:00+0000",
          },
          {
            type: "track",
            userId: "u",
            event: "e",
            originalTimestamp: "2026-01-31T08:30:00.123456Z",
            channel: "server",
          },
          { type: "page", anonymousId: "a", traits: { a: 1 }, context: null, integrations: { all: false } },
        ],
        writeKey: "WK",
        sentAt: 1_769_848_200,
        timestamp: null,
        context: { ip: "127.0.0.1" },
        integrations: [],
      },
    ],
  ])("for a batch: %s", async (_title, batch) => {
    expect(matches("Batch", batch)).toBe(await isTaken("batch", batch));
  });
});
