import { once } from "node:events";
import http from "node:http";
import { createServer, type CountersignServer } from "@countersign/server";
import { virtualClock } from "@countersign/sender/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { apiCaller } from "../support/api-caller.ts";
import { readEvents } from "../support/event-reader.ts";
import { portOf, SECRET, startReceiver, type Receiver } from "../support/receiver.ts";
import { closing } from "../../../../tests/support/resources.ts";

let receiver: Receiver;
let server: CountersignServer;
const { call } = apiCaller(() => server);

beforeEach(async () => {
  receiver = closing(await startReceiver());
  server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0 }));
});

async function record(event: string): Promise<string> {
  const receipt = await server.sender.track({ userId: "u1", event });
  await server.sender.idle();
  return receipt.deliveries[0] ?? "";
}

const received = (): readonly unknown[] =>
  receiver.webhooks.map((message) => ("event" in message ? message.event : message.type));

interface Job {
  readonly id: string;
  readonly state: string;
  readonly matched: number;
  readonly resent: number;
}

const jobOf = async (id: string): Promise<Job> => (await call("GET", `/resends/${id}`)).json() as Job;

describe("a delivery", () => {
  it("is sent again with the same bytes, with others, and with a fault", async () => {
    const id = await record("Ordered");
    const same = (await call("POST", `/deliveries/${id}/resend`)).json() as { deliveries: string[] };
    await server.sender.idle();
    expect(received()).toEqual(["Ordered", "Ordered"]);
    expect((await call("GET", `/deliveries/${same.deliveries[0]}`)).json()).toMatchObject({ resendOf: id });
    const body = JSON.stringify({ type: "track", userId: "u1", event: "Corrected", messageId: "m2" });
    await call("POST", `/deliveries/${id}/resend`, { body });
    await server.sender.idle();
    await call("POST", `/deliveries/${id}/resend`, { bodyBase64: Buffer.from(body).toString("base64") });
    await server.sender.idle();
    expect(received().slice(2)).toEqual(["Corrected", "Corrected"]);
    const forged = (await call("POST", `/deliveries/${id}/resend`, { fault: "bad_signature" })).json() as {
      deliveries: string[];
    };
    await record("Another");
    expect((await call("GET", `/deliveries/${forged.deliveries[0]}`)).json()).toMatchObject({
      last: { fault: "bad_signature", status: 401 },
    });
    expect(received().at(-1)).toBe("Another");
  });

  it("is not sent again with a fault while a thousand faults are active: one for a delivery that waits is used up by nothing else", async () => {
    const id = await record("Ordered");
    const fault = { fault: "reset", messageId: "none" };
    for (let n = 0; n < 1_000; n += 1) await server.control("POST", "/faults", fault);
    const resending = await call("POST", `/deliveries/${id}/resend`, { fault: "reset" });
    expect(resending.status).toBe(409);
    expect(resending.json()).toMatchObject({
      detail: "1000 faults are active. Cancel those that are not needed, with DELETE /api/faults/{id}.",
    });
    expect((await call("GET", "/deliveries/count")).json()).toMatchObject({ count: 1 });
    await call("DELETE", "/faults/1");
    expect((await call("POST", `/deliveries/${id}/resend`, { fault: "reset" })).status).toBe(201);
  });

  it("that does not exist is not sent, and leaves no fault behind", async () => {
    expect((await call("POST", "/deliveries/none/resend", { fault: "reset" })).status).toBe(404);
    expect((await call("GET", "/faults")).json()).toEqual([]);
    const id = await record("Ordered");
    expect((await call("POST", `/deliveries/${id}/resend`, { body: "{}", bodyBase64: "e30=" })).status).toBe(
      422,
    );
    expect((await call("POST", `/deliveries/${id}/resend`, { fault: "flood" })).status).toBe(400);
    expect((await call("POST", `/deliveries/${id}/resend`, { bdy: "{}" })).status).toBe(400);
  });

  it("that waits is tried now; one that has ended is not", async () => {
    const clock = virtualClock();
    server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0, clock }));
    receiver.answers.push(503);
    const { deliveries } = await server.sender.track({ userId: "u1", event: "Ordered" });
    await clock.advance(0);
    const id = deliveries[0] ?? "";
    expect((await call("POST", `/deliveries/${id}/retry`)).json()).toEqual({ id, waiting: false });
    await server.sender.idle();
    expect(received()).toEqual(["Ordered"]);
    const ended = await call("POST", `/deliveries/${id}/retry`);
    expect([ended.status, ended.json()]).toMatchObject([
      409,
      { detail: expect.stringContaining("delivered") },
    ]);
    expect((await call("POST", "/deliveries/none/retry")).status).toBe(404);
  });

  it("is refused to be tried now while it is being sent, and not because its destination is disabled", async () => {
    const slow = http.createServer().listen(0, "127.0.0.1");
    const arrived = once(slow, "request");
    await once(slow, "listening");
    closing(slow);
    const url = `http://127.0.0.1:${portOf(slow)}/`;
    // It is not tried again by itself before the test has ended.
    const retry = { firstDelayMs: 3_600_000, maxDelayMs: 3_600_000 };
    server = closing(await createServer({ to: url, secret: SECRET, port: 0, retry }));
    const { deliveries } = await server.sender.track({ userId: "u1", event: "Ordered" });
    const id = deliveries[0] ?? "";
    const [, response] = (await arrived) as [http.IncomingMessage, http.ServerResponse];
    const sent = await call("POST", `/deliveries/${id}/retry`);
    expect([sent.status, sent.json()]).toMatchObject([
      409,
      { detail: "The delivery is being sent right now, or is about to be." },
    ]);
    const settings = { endpoints: [{ url }], secret: SECRET, enabled: false };
    response.writeHead(503).end();
    await expect.poll(async () => (await server.sender.delivery(id))?.attempts).toHaveLength(1);
    const changed = await call("PUT", "/sources/default/destinations/webhooks", settings);
    expect(changed.status).toBe(200);
    const waiting = await call("POST", `/deliveries/${id}/retry`);
    const advice = "Its destination is disabled, so it waits. Enable the destination: then it is sent.";
    expect([waiting.status, waiting.json()]).toEqual([200, { id, waiting: true, advice }]);
    // As the delivery itself says.
    expect((await call("GET", `/deliveries/${id}`)).json()).toMatchObject({ advice });
  });
});

describe("deliveries", () => {
  it("are sent again by a filter, and the progress is told", async () => {
    const reader = await readEvents(server.url);
    receiver.answers.push(400, 400, 400);
    for (const event of ["A", "B", "C", "D"]) await record(event);
    const started = await call("POST", "/deliveries/resend", {
      filter: { state: "failed", event: ["A", "C"] },
    });
    expect(started.status).toBe(202);
    const { id } = started.json() as Job;
    await expect.poll(async () => (await jobOf(id)).state).toBe("done");
    await server.sender.idle();
    expect(await jobOf(id)).toMatchObject({ matched: 2, resent: 2 });
    expect((await call("GET", "/resends?limit=1")).json()).toEqual([await jobOf(id)]);
    expect(received().toSorted()).toEqual(["A", "C", "D"]);
    const told = () =>
      reader.events().flatMap((event) => (event["event"] === "resend" ? [event["job"]] : []));
    await expect.poll(() => told().at(-1)).toMatchObject({ id, state: "done", resent: 2 });
  });

  it("are left out if one was sent again alone and arrived, which would else arrive twice", async () => {
    receiver.answers.push(400, 400);
    const id = await record("A");
    await record("B");
    await call("POST", `/deliveries/${id}/resend`);
    await server.sender.idle();
    expect(received()).toEqual(["A"]);
    const job = (await call("POST", "/deliveries/resend", { filter: { state: "failed" } })).json() as Job;
    await expect.poll(async () => (await jobOf(job.id)).state).toBe("done");
    await server.sender.idle();
    expect(await jobOf(job.id)).toMatchObject({ matched: 1, resent: 1 });
    expect(received()).toEqual(["A", "B"]);
  });

  it("need a filter to be sent again, so that nobody sends everything by mistake", async () => {
    expect((await call("POST", "/deliveries/resend", { filter: {} })).status).toBe(422);
    expect((await call("POST", "/deliveries/resend", {})).status).toBe(400);
    expect((await call("POST", "/deliveries/resend", { filter: { stat: "failed" } })).json()).toMatchObject({
      errors: [{ pointer: "/filter/stat" }],
    });
    expect((await call("GET", "/resends/none")).status).toBe(404);
    expect((await call("DELETE", "/resends/none")).status).toBe(404);
  });

  it("that wait are all tried now after an outage, in the order of acceptance, and the answer says how many", async () => {
    const clock = virtualClock();
    // One at a time: two connections may be answered in either order.
    const concurrency = 1;
    server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0, clock, concurrency }));
    receiver.down = true;
    const events = ["A", "B", "C", "D"];
    for (const event of events) {
      await server.sender.track({ userId: "u1", event });
      await clock.advance(1);
    }
    await clock.advance("1h");
    receiver.down = false;
    const retry = async (body: object): Promise<unknown> =>
      (await call("POST", "/deliveries/retry", body)).json();
    expect(await retry({ filter: { event: "D" } })).toEqual({ retried: 1, waiting: 0 });
    await clock.advance(0);
    expect(received()).toEqual(["D"]);
    expect(await retry({ filter: {}, limit: 1 })).toEqual({ retried: 1, waiting: 0 });
    await clock.advance(0);
    expect(await retry({ filter: { state: ["pending", "failed"] } })).toEqual({ retried: 2, waiting: 0 });
    expect(await retry({ filter: {} })).toEqual({ retried: 0, waiting: 0 });
    await server.sender.idle();
    expect(received()).toEqual(["D", "A", "B", "C"]);
  });

  it("are not tried now by a filter that is wrong, or leaves out those that wait", async () => {
    expect((await call("POST", "/deliveries/retry", {})).status).toBe(400);
    expect((await call("POST", "/deliveries/retry", { filter: { stat: "x" } })).json()).toMatchObject({
      errors: [{ pointer: "/filter/stat" }],
    });
    expect((await call("POST", "/deliveries/retry", { filter: {}, limit: 0 })).status).toBe(400);
    // JSON.parse() reads it as Infinity.
    const endless = await fetch(`${server.url}/api/deliveries/retry`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"filter":{},"limit":1e400}',
    });
    expect([endless.status, await endless.json()]).toMatchObject([400, { errors: [{ pointer: "/limit" }] }]);
    const ended = await call("POST", "/deliveries/retry", { filter: { state: "failed" } });
    expect([ended.status, ended.json()]).toMatchObject([422, { errors: [{ pointer: "/filter/state" }] }]);
  });

  it("that have ended are removed by a filter, and those that wait never", async () => {
    await record("A");
    receiver.answers.push(400);
    await record("B");
    receiver.down = true;
    await server.sender.track({ userId: "u1", event: "Waits" });
    await expect.poll(() => receiver.attempts()).toBeGreaterThanOrEqual(3);
    expect((await call("DELETE", "/deliveries?state=pending")).status).toBe(422);
    expect((await call("DELETE", "/deliveries?state=failed")).json()).toEqual({ removed: 1 });
    expect((await call("DELETE", "/deliveries")).json()).toEqual({ removed: 1 });
    expect((await call("GET", "/deliveries")).json()).toMatchObject({ deliveries: [{ event: "Waits" }] });
  });
});
