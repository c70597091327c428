import { expect, it } from "vitest";
import { createServer } from "@countersign/server";
import { closing } from "../../../../tests/support/resources.ts";
import { send } from "../support/http.ts";

it("control() does in process what the same request does over HTTP, with a token and without giving it", async () => {
  const server = closing(await createServer({ to: "http://127.0.0.1:9/", port: 0, token: "let-me-in" }));
  const injected = await server.control("POST", "/faults", { fault: "bad_signature", times: 2 });
  expect(injected).toEqual({
    status: 201,
    body: { id: 1, fault: "bad_signature", scope: {}, remaining: 2 },
  });
  const headers = { authorization: "Bearer let-me-in" };
  expect((await send(`${server.url}/api/faults`, { headers })).json()).toEqual([injected.body]);
  expect(await server.control("DELETE", "/faults/1")).toEqual({ status: 204, body: undefined });
  expect(await server.control("GET", "/faults")).toEqual({ status: 200, body: [] });
});

it("control() answers a mistake as the API does: with a problem, and nothing is thrown", async () => {
  const server = closing(await createServer({ to: "http://127.0.0.1:9/", port: 0 }));
  expect(await server.control("POST", "/clock", { advance: "4h" })).toMatchObject({
    status: 409,
    body: { status: 409, detail: expect.stringContaining("--virtual-clock") },
  });
  expect(await server.control("GET", "/nowhere")).toMatchObject({ status: 404 });
  expect(await server.control("GET", "/events?after=start")).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining("subscribe()") },
  });
});
