import { createServer } from "@countersign/server";
import { expect, it, onTestFinished } from "vitest";
import { CALLS } from "./support/calls.ts";
import { NODE_CLIENTS } from "./support/clients.ts";
import { expectAllToArrive } from "./support/compare.ts";
import { SECRET, startReceiver } from "./support/receiver.ts";
import { openWire } from "./support/wire.ts";

it.each(Object.entries(NODE_CLIENTS))(
  "%s: 14 calls arrive, none lost, none changed, none extra",
  async (_name, run) => {
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const server = await createServer({ to: receiver.url, secret: SECRET, port: 0 });
    onTestFinished(() => server.close());
    const wire = await openWire(server.url);
    onTestFinished(() => wire.close());

    await run(wire.url, CALLS);
    await server.sender.idle();

    expect(receiver.problems).toEqual([]);
    expectAllToArrive(CALLS, wire.messages, receiver.messages);
  },
);
