import { EventEmitter, once } from "node:events";
import { connect } from "node:net";
import { createSender, sqliteStore } from "@countersign/sender";
import { createHealthServer, type HealthServer, type HealthServerOptions } from "@countersign/server";
import type { StoreContext } from "@countersign/sender/store";
import { expect, it, onTestFinished, vi } from "vitest";
import { changedStore } from "../../../sender/test/support/changed-store.ts";
import { send } from "../support/http.ts";

async function start(options: Partial<HealthServerOptions> = {}): Promise<HealthServer> {
  const health = await createHealthServer({ port: 0, ...options });
  onTestFinished(() => health.close());
  return health;
}

async function watched(options: Partial<HealthServerOptions> = {}): Promise<string> {
  const health = await start(options);
  const sender = await createSender({ url: "http://127.0.0.1:9/" });
  onTestFinished(() => sender.close({ deadline: 0 }));
  health.watch(sender);
  return health.url;
}

it("is alive and not ready before a sender is open", async () => {
  const { url } = await start();
  const found = await Promise.all(["/healthz", "/readyz", "/metrics"].map((path) => send(url + path)));
  expect(found.map(({ status }) => status)).toEqual([200, 503, 503]);
});

it("tells the state and the metrics of a sender, and has nothing else", async () => {
  const url = await watched();
  const ready = await send(`${url}/readyz`);
  expect([ready.status, ready.json()]).toMatchObject([200, { status: "ok", delivers: true }]);
  const metrics = await send(`${url}/metrics`);
  expect(metrics.headers["content-type"]).toContain("text/plain");
  expect(metrics.text).toContain("countersign_store_up 1");
  expect(metrics.text).toContain("process_cpu_seconds_total");
  for (const path of ["/", "/api/openapi.json", "/v1/track"])
    expect((await send(url + path)).status).toBe(404);
});

it("is degraded, and not ok, while no process delivers from a store that can be used", async () => {
  let context: (() => StoreContext) | undefined;
  const store = changedStore(sqliteStore(), (_, known) => {
    context = known;
    return {};
  });
  const health = await start();
  const sender = await createSender({ url: "http://127.0.0.1:9/", store });
  onTestFinished(() => sender.close({ deadline: 0 }));
  health.watch(sender);
  const answer = async (): Promise<unknown> => {
    const response = await send(`${health.url}/readyz`);
    return { http: response.status, ...(response.json() as object) };
  };
  context?.().stateChanged({ state: "up", reason: "No process delivers." });
  expect(await answer()).toMatchObject({ http: 200, status: "degraded", problems: ["No process delivers."] });
  context?.().stateChanged({ state: "up" });
  expect(await answer()).toMatchObject({ http: 200, status: "ok" });
});

it("asks the store once for all who ask at the same time: anyone may, as often as they like on one connection", async () => {
  const opened = new EventEmitter();
  let asked = 0;
  const store = changedStore(sqliteStore(), (original) => ({
    async counts() {
      asked += 1;
      await once(opened, "now");
      return original.counts();
    },
  }));
  const health = await start();
  const sender = await createSender({ url: "http://127.0.0.1:9/", store });
  onTestFinished(() => sender.close({ deadline: 0 }));
  health.watch(sender);
  const socket = connect(Number(new URL(health.url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let answers = "";
  socket.setEncoding("utf8").on("data", (text: string) => (answers += text));
  socket.write("GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(50));
  await vi.waitFor(() => expect(asked).toBeGreaterThan(0));
  opened.emit("now");
  await vi.waitFor(() => expect(answers.split("HTTP/1.1 200 OK")).toHaveLength(51));
  expect(asked).toBe(1);
});

it("keeps metrics, and what the store says, from everyone without the token", async () => {
  const url = await watched({ token: "s3cret" });
  expect((await send(`${url}/metrics`)).status).toBe(401);
  const authorization = "Bearer s3cret";
  expect((await send(`${url}/metrics`, { headers: { authorization } })).status).toBe(200);
  expect((await send(`${url}/readyz`)).json()).toEqual({ status: "ok" });
  expect((await send(`${url}/readyz`, { headers: { authorization } })).json()).toHaveProperty("store");
});

it("refuses hosts that DNS rebinding would send, and takes those that are allowed", async () => {
  const url = await watched({ allowHosts: ["worker.internal"] });
  for (const [host, status] of [
    ["evil.example", 403],
    ["worker.internal", 200],
  ] as const)
    expect((await send(`${url}/metrics`, { headers: { host } })).status).toBe(status);
});

it("needs a token where others can reach it, and says which port is taken", async () => {
  await expect(createHealthServer({ port: 0, host: "0.0.0.0" })).rejects.toThrow("so it needs a token");
  const { url } = await start();
  const { port } = new URL(url);
  await expect(createHealthServer({ port: Number(port) })).rejects.toThrow(
    `Port ${port} on 127.0.0.1 is already in use`,
  );
});
