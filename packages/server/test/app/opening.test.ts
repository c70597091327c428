import { sqliteStore } from "@countersign/sender";
import { createServer } from "@countersign/server";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { changedStore } from "../../../sender/test/support/changed-store.ts";
import { send } from "../support/http.ts";
import { freePort } from "../../../../tests/support/free-port.ts";
import { closing } from "../../../../tests/support/resources.ts";

it("while its store is opened, a server answers each API as its document says, and pages read that they are to wait", async () => {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const store = changedStore(sqliteStore({ path: ":memory:" }), (original) => ({
    open: async (context) => {
      await opened;
      return original.open(context);
    },
  }));
  const port = await freePort();
  const starting = createServer({ to: "http://127.0.0.1:9/", port, store });
  const url = `http://127.0.0.1:${port}`;
  await expect.poll(() => send(`${url}/healthz`).catch(() => undefined)).toMatchObject({ status: 200 });

  const origin = "https://shop.example";
  const call = { writeKey: "any", userId: "u1", event: "Ordered" };
  for (const path of ["/v1/track", "//v1/batch"]) {
    const answer = await send(url + path, { method: "POST", headers: { origin }, body: call });
    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "1"]);
    expect(answer.json()).toEqual({
      success: false,
      code: "unavailable",
      message: "The server is starting",
      detail: "The server waits for its store. Send the request again.",
    });
    expect(answer.headers["access-control-allow-origin"]).toBe(origin);
    expect(answer.headers["access-control-expose-headers"]).toContain("Retry-After");
  }
  // A page asks first before it sends with a header of its own, and reads no answer without a yes.
  const asks = { origin, "access-control-request-method": "POST", "access-control-request-headers": "x-a" };
  const ask = (): Promise<object> =>
    send(`${url}/v1/track`, { method: "OPTIONS", headers: asks }).then(({ status, headers }) => ({
      status,
      ...Object.fromEntries(
        Object.entries(headers).filter(([name]) => /^(?:access-control-|vary$)/u.test(name)),
      ),
    }));
  const allowed = await ask();
  expect(allowed).toMatchObject({
    status: 204,
    "access-control-allow-origin": origin,
    "access-control-allow-headers": "x-a",
  });
  expect((await send(`${url}/api/status`)).json()).toMatchObject({ status: 503 });
  expect((await send(`${url}/readyz`)).json()).toMatchObject({ status: "down" });
  open();
  closing(await starting);
  expect(await ask()).toEqual(allowed);
  expect((await send(`${url}/v1/track`, { method: "POST", body: call })).status).toBe(200);
});

it("a connection on which nothing comes, as browsers open ahead, keeps no server from starting, nor from its end", async () => {
  const openSilent = async (): Promise<Socket> => {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    return socket;
  };
  const port = await freePort();
  const store = changedStore(sqliteStore(), (original) => ({
    async open(context) {
      await openSilent();
      return original.open(context);
    },
  }));
  const server = closing(await createServer({ to: "http://127.0.0.1:9/", port, store }));
  const silent = await openSilent();
  const ended = once(silent, "close");
  await server.close({ deadlineMs: 3_600_000 });
  await ended;
  expect(silent.bytesRead).toBe(0);
});
