import { METHODS as NODE_METHODS } from "node:http";
import { createHealthServer, createServer } from "@countersign/server";
import { expect, it } from "vitest";
import { send } from "../support/http.ts";
import { closing } from "../../../../tests/support/resources.ts";

const METHODS = ["DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT"];

async function startServer(): Promise<string> {
  return closing(await createServer({ to: "http://127.0.0.1:9/", port: 0 })).url;
}

it("each path of the API answers a method that it does not take with 405, and says which it takes", async () => {
  const url = await startServer();
  const { paths } = (await send(`${url}/api/openapi.json`)).json() as { paths: Record<string, object> };
  let asked = 0;
  for (const [path, operations] of Object.entries(paths)) {
    const concrete = path.replaceAll(/\{\w+\}/g, "any");
    const taken = Object.keys(operations).map((method) => method.toUpperCase());
    for (const method of METHODS.filter((one) => !taken.includes(one))) {
      const answer = await send(url + concrete, { method });
      expect([concrete, method, answer.status]).toEqual([concrete, method, 405]);
      expect(answer.headers.allow).toBe([...new Set(taken)].toSorted().join(", "));
      expect(answer.json()).toMatchObject({ status: 405, title: "Method Not Allowed" });
      asked += 1;
    }
  }
  expect(asked).toBeGreaterThan(100);
});

it("a path that cannot be decoded is a problem under /api, and has a code for clients under /v1", async () => {
  const url = await startServer();
  const [api, ingestion] = [await send(`${url}/api/%ff`), await send(`${url}//v1/%ff`, { method: "POST" })];
  expect([api.status, api.headers["content-type"]]).toEqual([400, "application/problem+json"]);
  expect(Object.keys(api.json() as object)).toEqual(["type", "title", "status", "detail"]);
  expect([ingestion.status, ingestion.headers["content-type"]]).toEqual([400, "application/json"]);
  expect(ingestion.json()).toEqual({ success: false, code: "malformed_url", message: "Malformed URL" });
});

it("a path that is written out is no id: looking at what retries deliveries is 405, and not a delivery that is missing", async () => {
  const url = await startServer();
  for (const path of ["/api/deliveries/retry", "/api//deliveries/resend/?limit=1"]) {
    const answer = await send(url + path);
    expect([path, answer.status, answer.headers.allow]).toEqual([path, 405, "POST"]);
    expect(answer.json()).toMatchObject({ detail: "This path does not take GET. Use POST." });
  }
  expect((await send(`${url}/api/deliveries/count`)).json()).toMatchObject({ count: 0 });
  expect((await send(`${url}/api/deliveries/any`)).status).toBe(404);
});

it("so do the paths for supervisors, also of a worker, and the page", async () => {
  const health = closing(await createHealthServer({ port: 0 }));
  for (const url of [await startServer(), health.url])
    for (const path of ["/healthz", "/readyz", "/metrics", "//healthz/?verbose"]) {
      const answer = await send(url + path, { method: "POST" });
      expect([answer.status, answer.headers.allow]).toEqual([405, "GET, HEAD"]);
      expect(answer.json()).toMatchObject({ detail: "This path does not take POST. Use GET or HEAD." });
    }
  expect((await send(await startServer(), { method: "POST" })).status).toBe(405);
});

it("so do all of them to a method that has no content type where it should have one, or that is of an extension", async () => {
  const url = await startServer();
  // Node 20.19.0 has no QUERY, and ends the connection with 400.
  for (const method of NODE_METHODS.filter((one) => ["QUERY", "PROPFIND"].includes(one))) {
    for (const path of ["/", "/healthz", "/api/status", "/v1/track"])
      expect([method, path, (await send(url + path, { method })).status]).toEqual([method, path, 405]);
    expect((await send(`${url}/api`, { method })).status).toBe(404);
  }
});

it("a body that is not declared as JSON, as of curl without the header, is told which header to send", async () => {
  const url = await startServer();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const body = { userIds: ["u1"] };
  const answer = await send(`${url}/api/audiences/a`, { method: "PUT", headers, body });
  expect(answer.json()).toMatchObject({
    status: 415,
    detail: "Send the body as JSON, with the header `Content-Type: application/json`.",
  });
});

it("monitors may ask with HEAD: as GET answers, without the body", async () => {
  const health = closing(await createHealthServer({ port: 0 }));
  for (const url of [await startServer(), health.url])
    for (const path of ["/healthz", "/readyz", "/metrics"]) {
      const [head, get] = [await send(url + path, { method: "HEAD" }), await send(url + path)];
      expect([path, head.status, head.text]).toEqual([path, get.status, ""]);
      expect(head.headers["content-type"]).toBe(get.headers["content-type"]);
    }
  expect((await send(await startServer(), { method: "HEAD" })).status).toBe(200);
});

it("a path that cannot be decoded is a problem", async () => {
  const answer = await send(`${await startServer()}/api/sources/%zz`);
  expect([answer.status, answer.headers["content-type"]]).toEqual([400, "application/problem+json"]);
  expect(answer.json()).toMatchObject({
    title: "Bad Request",
    status: 400,
    detail: expect.stringContaining("percent sign"),
  });
});

it("a name in a path that is too long is told so, and not that a percent sign is wrong", async () => {
  const url = await startServer();
  for (const path of [
    `/api/sources/${"x".repeat(513)}`,
    `/api/sources/default/destinations/${"x".repeat(600)}?a=b`,
  ]) {
    const answer = await send(url + path, { method: "DELETE" });
    expect([answer.status, answer.headers["content-type"]]).toEqual([400, "application/problem+json"]);
    expect(answer.json()).toMatchObject({ detail: "A name in the path has at most 512 characters." });
  }
  expect((await send(`${url}/api/sources/${"x".repeat(512)}`, { method: "DELETE" })).status).toBe(404);
  const ingestion = await send(`${url}/v1/projects/${"x".repeat(513)}/settings`);
  expect([ingestion.status, ingestion.json()]).toMatchObject([400, { code: "malformed_url" }]);
});

it("a path that is unknown is 404 with any method", async () => {
  const url = await startServer();
  for (const method of METHODS)
    for (const path of ["/api", "/api/nowhere", "/api/sources/a/b/c/d", "/%68ealthz/x"])
      expect([path, (await send(url + path, { method })).status]).toEqual([path, 404]);
});
