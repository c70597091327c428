import { sign } from "@countersign/core";
import { createServer, type CountersignServer } from "@countersign/server";
import { beforeEach, describe, expect, it } from "vitest";
import { apiCaller } from "../support/api-caller.ts";
import { send } from "../support/http.ts";
import { SECRET, startReceiver } from "../support/receiver.ts";
import { closing } from "../../../../tests/support/resources.ts";

let server: CountersignServer;
const { call } = apiCaller(() => server);

beforeEach(async () => {
  const receiver = closing(await startReceiver());
  server = closing(await createServer({ to: receiver.url, secret: SECRET, port: 0 }));
});

describe("verifying a signature", () => {
  it("says what `countersign verify` says, and tells the right signature to who has the secret", async () => {
    const signature = "cfc8098c2e5655c926d75e61f3e90d09222286e4";
    const right = await call("POST", "/verify", { body: "{}", signature, secret: "dev" });
    expect(right.json()).toEqual({
      matches: true,
      sentence: "The signature matches the exact bytes of the body.",
      diagnoses: [],
      expected: signature,
    });
    const wrong = await call("POST", "/verify", { bodyBase64: "e30=", signature, secret: "dev " });
    expect(wrong.json()).toMatchObject({ matches: false, diagnoses: [{ code: "secret-white-space" }] });
  });

  it("with the secret of a destination tells neither the secret nor the right signature", async () => {
    const body = "{}";
    const destination = "default/webhooks";
    const wrong = await call("POST", "/verify", { body, signature: "0".repeat(40), destination });
    expect(wrong.json()).toMatchObject({ matches: false });
    expect(wrong.text).not.toContain(SECRET);
    expect(wrong.text).not.toContain(sign(body, SECRET));
    const right = await call("POST", "/verify", { body, signature: sign(body, SECRET), destination });
    expect(right.json()).toMatchObject({ matches: true });
  });

  it("of an attempt says what was wrong with a forged one, and that the next was right", async () => {
    await call("POST", "/faults", { fault: "bad_signature" });
    const ids: string[] = [];
    for (const event of ["Forged", "Right"]) {
      const receipt = await server.sender.track({ userId: "u", event });
      ids.push(...receipt.deliveries);
      await server.sender.idle();
    }
    const [forged = "", right = ""] = ids;
    expect((await call("POST", "/verify", { delivery: forged })).json()).toMatchObject({ matches: false });
    expect((await call("POST", "/verify", { delivery: right, attempt: 0 })).json()).toMatchObject({
      matches: true,
    });
    expect((await call("POST", "/verify", { delivery: right, attempt: 7 })).status).toBe(422);
    expect((await call("POST", "/verify", { delivery: "none" })).status).toBe(404);
  });

  it("refuses what a delivery has of its own, instead of calling another secret right", async () => {
    const { deliveries } = await server.sender.track({ userId: "u", event: "Right" });
    await server.sender.idle();
    const [delivery] = deliveries;
    for (const more of [
      { secret: "wrong" },
      { destination: "none" },
      { body: "{}" },
      { bodyBase64: "e30=" },
    ]) {
      const answer = await call("POST", "/verify", { delivery, ...more });
      const [field = ""] = Object.keys(more);
      expect([answer.status, answer.json()]).toMatchObject([422, { errors: [{ pointer: `/${field}` }] }]);
    }
    const signature = "0".repeat(40);
    expect((await call("POST", "/verify", { delivery, signature })).json()).toMatchObject({ matches: false });
  });

  it("says what is missing", async () => {
    const cases: [object, number, string | undefined][] = [
      [{}, 422, "/signature"],
      [{ signature: "x" }, 422, "/body"],
      [{ signature: "x", body: "{}", bodyBase64: "e30=" }, 422, "/body"],
      [{ signature: "x", body: "{}" }, 422, "/secret"],
      [{ signature: "x", body: "{}", secret: "" }, 400, "/secret"],
      [{ signature: "x", body: "{}", destination: "none" }, 404, undefined],
    ];
    for (const [body, status, pointer] of cases) {
      const answer = await call("POST", "/verify", body);
      const { errors } = answer.json() as { errors?: { pointer: string }[] };
      expect([answer.status, errors?.[0]?.pointer]).toEqual([status, pointer]);
    }
    await send(`${server.url}/api/sources/default/destinations/webhooks`, {
      method: "PUT",
      body: { endpoints: [{ url: "http://127.0.0.1:9/" }], secret: null },
    });
    const unsigned = { signature: "x", body: "{}", destination: "default/webhooks" };
    expect((await call("POST", "/verify", unsigned)).status).toBe(422);
  });
});
