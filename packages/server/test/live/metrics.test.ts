import { createServer } from "@countersign/server";
import { virtualClock } from "@countersign/sender/testing";
import { expect, it } from "vitest";
import { send } from "../support/http.ts";
import { SECRET, startReceiver } from "../support/receiver.ts";
import { closing } from "../support/resources.ts";

it("a failure streak is that of the endpoints that a destination has now", async () => {
  const [former, next] = [closing(await startReceiver()), closing(await startReceiver())];
  next.down = true;
  const clock = virtualClock("2026-01-31T15:00:00Z");
  const server = closing(await createServer({ to: former.url, secret: SECRET, port: 0, clock }));
  const destination = `${server.url}/api/sources/default/destinations/webhooks`;
  const streaks = async (): Promise<readonly string[]> => {
    const { text } = await send(`${server.url}/metrics`);
    return text.match(/^countersign_failure_streak.*$/gm) ?? [];
  };

  await server.sender.track({ userId: "u1", event: "Ordered" });
  await server.sender.idle();
  expect(await streaks()).toEqual(['countersign_failure_streak{destination="default/webhooks"} 0']);
  const body = { endpoints: [{ url: next.url }], secret: SECRET };
  expect((await send(destination, { method: "PUT", body })).status).toBe(200);
  await server.sender.track({ userId: "u1", event: "Ordered" });
  await clock.advance("1h");
  expect(await streaks()).toEqual([expect.stringMatching(/destination="default\/webhooks"\} [1-9]/)]);
  expect((await send(destination, { method: "DELETE" })).status).toBe(200);
  expect(await streaks()).toEqual([]);
});
