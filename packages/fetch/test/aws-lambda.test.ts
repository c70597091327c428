import { createRouter, memoryDedupe, type WebhookError } from "@countersign/core";
import { mutations, sampleMessages, signedRequest } from "@countersign/core/testing";
import { dispatch, lambdaHandler, type LambdaHttpEvent } from "@countersign/fetch/aws-lambda";
import type {
  ALBEvent,
  ALBHandler,
  APIGatewayProxyEvent,
  APIGatewayProxyEventV2,
  APIGatewayProxyHandler,
  APIGatewayProxyHandlerV2,
  Context,
  LambdaFunctionURLEvent,
  LambdaFunctionURLHandler,
} from "aws-lambda";
import { describe, expect, expectTypeOf, it, vi } from "vitest";

const SECRET = "secret";
const track = signedRequest(sampleMessages.track, SECRET);
const text = Buffer.from(track.body).toString();
const noContent = (): Response => new Response(null, { status: 204 });

const kinds = {
  "payload 1.0": { httpMethod: "POST", multiValueHeaders: {}, requestContext: { httpMethod: "POST" } },
  "payload 2.0": { version: "2.0", requestContext: { http: { method: "POST" } } },
  "a load balancer": { httpMethod: "POST", requestContext: { elb: {} } },
  "no context, as Netlify's older functions": { httpMethod: "POST", multiValueHeaders: {} },
} as const;

function event(kind: keyof typeof kinds, given: Partial<LambdaHttpEvent> = {}): LambdaHttpEvent {
  const { headers = track.headers } = given;
  const { multiValueHeaders } = kinds[kind] as { multiValueHeaders?: object };
  const several = Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name, [value ?? ""]]),
  );
  return {
    ...kinds[kind],
    body: text,
    isBase64Encoded: false,
    headers,
    ...(multiValueHeaders && { multiValueHeaders: several }),
    ...given,
  };
}

const names = Object.keys(kinds) as (keyof typeof kinds)[];

describe.each(names)("lambdaHandler with %s", (kind) => {
  it("verifies the exact bytes, of strings and of base64, with headers in any case", async () => {
    const seen: unknown[] = [];
    const handler = lambdaHandler({ secret: SECRET, strict: true }, ({ message, verifiedOver }) => {
      seen.push(message, verifiedOver);
      return noContent();
    });
    expect(await handler(event(kind))).toMatchObject({ statusCode: 204, body: "", isBase64Encoded: false });
    const headers = Object.fromEntries(
      Object.entries(track.headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    const body = Buffer.from(track.body).toString("base64");
    expect((await handler(event(kind, { headers, body, isBase64Encoded: true }))).statusCode).toBe(204);
    expect(seen).toEqual([sampleMessages.track, "bytes", sampleMessages.track, "bytes"]);
  });

  it("answers a forgery, and a GET without a body, with a problem and its headers", async () => {
    const handler = lambdaHandler({ secret: SECRET }, noContent);
    const refused = await handler(event(kind, { headers: mutations.forged(track).headers }));
    expect(refused.statusCode).toBe(401);
    expect(JSON.parse(refused.body)).toMatchObject({ code: "ERR_SIGNATURE_MISMATCH" });
    const get =
      kind === "payload 2.0" ? { requestContext: { http: { method: "GET" } } } : { httpMethod: "GET" };
    const answer = await handler({ ...event(kind, { body: null, headers: null }), ...get });
    expect(answer.statusCode).toBe(405);
    const { headers = {}, multiValueHeaders = {} } = answer;
    const sent = {
      ...headers,
      ...Object.fromEntries(Object.entries(multiValueHeaders).map(([k, v]) => [k, v[0]])),
    };
    expect(sent).toMatchObject({ allow: "POST", "content-type": "application/problem+json; charset=utf-8" });
    expect(kind === "a load balancer" ? answer.statusDescription : undefined).toBe(
      kind === "a load balancer" ? "405 Method Not Allowed" : undefined,
    );
  });

  it("does not name the connection, which is not the function's", async () => {
    const handler = lambdaHandler({ secret: SECRET, maxBodyBytes: 10 }, noContent);
    const answer = await handler(event(kind));
    expect(answer.statusCode).toBe(413);
    expect({ ...answer.headers, ...answer.multiValueHeaders }).not.toHaveProperty("connection");
  });

  it("does not pass on what a handler says of the connection, since the service in front would refuse it", async () => {
    const headers = {
      connection: "close",
      "content-length": "2",
      "transfer-encoding": "chunked",
      "x-id": "1",
    };
    const handler = lambdaHandler({ secret: SECRET }, () => new Response("ok", { headers }));
    const answer = await handler(event(kind));
    expect(Object.keys({ ...answer.headers, ...answer.multiValueHeaders }).toSorted()).toEqual([
      "content-type",
      "x-id",
    ]);
  });

  it("returns cookies and binary bodies in the form that the service takes", async () => {
    const handler = lambdaHandler({ secret: SECRET }, () => {
      const response = new Response(Uint8Array.of(0xff, 0));
      response.headers.append("set-cookie", "a=1");
      response.headers.append("set-cookie", "b=2");
      return response;
    });
    const answer = await handler(event(kind));
    expect(answer).toMatchObject({ body: "/wA=", isBase64Encoded: true });
    if ("multiValueHeaders" in kinds[kind])
      expect(answer.multiValueHeaders).toEqual({ "set-cookie": ["a=1", "b=2"] });
    if (kind === "payload 2.0") expect(answer).toMatchObject({ headers: {}, cookies: ["a=1", "b=2"] });
    // It takes one value of each header, and no list of cookies.
    if (kind === "a load balancer") expect(answer.headers).toEqual({ "set-cookie": "b=2" });
    expect("cookies" in answer).toBe(kind === "payload 2.0");
  });

  it("passes on what the handler throws, so that the delivery comes again, and dedupes", async () => {
    const handle = vi.fn<() => Response>(noContent).mockImplementationOnce(() => {
      throw new Error("the database is down");
    });
    const handler = lambdaHandler({ secret: SECRET, dedupe: memoryDedupe() }, handle);
    await expect(handler(event(kind))).rejects.toThrow("the database is down");
    expect((await handler(event(kind))).statusCode).toBe(204);
    expect((await handler(event(kind))).statusCode).toBe(200);
    expect(handle).toHaveBeenCalledTimes(2);
  });
});

it("a signature that came twice is refused where the event tells of both", async () => {
  const handler = lambdaHandler({ secret: SECRET }, noContent);
  const signature = track.headers["x-signature"] ?? "";
  const multiValueHeaders = { "Content-Type": ["application/json"], "X-Signature": [signature, signature] };
  const answer = await handler(event("payload 1.0", { multiValueHeaders }));
  expect(JSON.parse(answer.body)).toMatchObject({ code: "ERR_SIGNATURE_MALFORMED" });
});

describe("a body that a middleware has parsed, as httpJsonBodyParser() of middy does", () => {
  const parsed = (of: unknown, isBase64Encoded = true): LambdaHttpEvent =>
    event("payload 2.0", { body: of as string, isBase64Encoded });

  it("is verified as the JSON that it was, in base64 or not", async () => {
    const handler = lambdaHandler({ secret: SECRET }, ({ verifiedOver }) => new Response(verifiedOver));
    for (const isBase64Encoded of [false, true])
      expect(await handler(parsed(JSON.parse(text), isBase64Encoded))).toMatchObject({
        statusCode: 200,
        body: "json",
      });
    expect(await handler(parsed({ type: "track" }))).toMatchObject({ statusCode: 401 });
  });

  it.each([
    ["with strict, which needs the bytes", JSON.parse(text), true],
    ["when nothing is left of it", 1, false],
  ])("is the app's mistake %s, with what to change", async (_case, of, strict) => {
    const onRejected = vi.fn<(error: WebhookError) => void>();
    const handler = lambdaHandler({ secret: SECRET, strict, onRejected }, noContent);
    expect(await handler(parsed(of))).toMatchObject({ statusCode: 500 });
    const [error] = onRejected.mock.calls[0] ?? [];
    expect(error).toMatchObject({ code: "ERR_BODY_ALREADY_READ" });
    expect(error?.hint).toContain("Leave out the parser, such as httpJsonBodyParser() of middy");
  });
});

it("gives functions the event and Lambda's context, and runs a router", async () => {
  const seen: unknown[] = [];
  const router = createRouter().on("track", ({ event: name }) => void seen.push(name));
  const handler = lambdaHandler<LambdaHttpEvent, { awsRequestId: string }>(
    {
      secret: ({ httpMethod }, { awsRequestId }) => {
        seen.push(httpMethod, awsRequestId);
        return SECRET;
      },
    },
    dispatch(router),
  );
  expect((await handler(event("payload 1.0"), { awsRequestId: "r-1" })).statusCode).toBe(204);
  expect(seen).toEqual(["POST", "r-1", "Order Completed"]);
});

it.each([{ Records: [{ eventSource: "aws:sqs" }] }, { key1: "value1" }, null])(
  "an event that is not an HTTP event is a TypeError that says so: %j",
  async (other) => {
    const handler = lambdaHandler({ secret: SECRET }, noContent);
    await expect(handler(other as unknown as LambdaHttpEvent)).rejects.toThrow("takes HTTP events");
  },
);

it("a missing handler or a wrong option is a TypeError when it is created", () => {
  expect(() => lambdaHandler({ secret: SECRET }, undefined as unknown as typeof noContent)).toThrow(
    "lambdaHandler() needs a handler: lambdaHandler({ secret }",
  );
  const misspelt: object = { secret: SECRET, stict: true };
  expect(() => lambdaHandler(misspelt, noContent)).toThrow('unknown option "stict"');
});

it("has the types of @types/aws-lambda", () => {
  const rest: APIGatewayProxyHandler = lambdaHandler<APIGatewayProxyEvent, Context>(
    { secret: SECRET },
    noContent,
  );
  const http: APIGatewayProxyHandlerV2 = lambdaHandler<APIGatewayProxyEventV2, Context>(
    { secret: SECRET },
    (_webhook, { rawPath }, { awsRequestId }) => new Response(rawPath + awsRequestId),
  );
  const url: LambdaFunctionURLHandler = lambdaHandler<LambdaFunctionURLEvent, Context>(
    { secret: SECRET },
    noContent,
  );
  const balanced: ALBHandler = lambdaHandler<ALBEvent, Context>({ secret: SECRET }, noContent);
  expect([rest, http, url, balanced]).toHaveLength(4);
  expectTypeOf(rest).parameter(0).toEqualTypeOf<APIGatewayProxyEvent>();
});
