import crypto from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import type { StoreState } from "@countersign/sender/store";
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { quietContext } from "../../sender/test/support/acceptances.ts";
import { Connections } from "../src/database/connections.ts";
import { namesOf } from "../src/schema/names.ts";
import { DeliveryLog } from "../src/tables/delivery-log.ts";
import { freePort } from "../../../tests/support/free-port.ts";

/** A message of the protocol: its kind, the length of what follows with these four bytes, and what follows. */
function message(kind: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(content.length + 4);
  return Buffer.concat([Buffer.from(kind), length, content]);
}

const GREETING_AND_END = Buffer.concat([
  message("R", Buffer.alloc(4)),
  message("Z", Buffer.from("I")),
  message("E", Buffer.from("SFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0")),
]);

/** A server that answers a new connection with this. */
async function answering(answer: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => answer(socket));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `postgres://countersign:p@127.0.0.1:${(server.address() as AddressInfo).port}/x?sslmode=disable`;
}

/** A server that ends in the packet in which it is ready. */
function endingServer(): Promise<string> {
  return answering((socket) => socket.end(GREETING_AND_END));
}

/** What would have ended the process from now on: nobody has caught it. */
function uncaught(event: "uncaughtException" | "unhandledRejection"): readonly unknown[] {
  const thrown: unknown[] = [];
  const hear = (error: unknown): unknown => thrown.push(error);
  process.prependListener(event as "uncaughtException", hear);
  onTestFinished(() => void process.off(event, hear));
  return thrown;
}

it("a delivery that is asked for while the database is away does not end the process, though it is looked for in two tables", async () => {
  const connections = new Connections({ url: `postgres://countersign@127.0.0.1:${await freePort()}/x` });
  const thrown = uncaught("unhandledRejection");
  const log = new DeliveryLog(connections, namesOf("countersign"));
  await expect(log.find("d1", undefined)).rejects.toThrow("ECONNREFUSED");
  // Both connections have been refused by then, and Node.js has told what nobody has caught.
  await connections.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(thrown).toEqual([]);
});

it.each(["of our own", "of the caller's pool"])(
  "a connection %s whose server ends as it answers does not end the process",
  async (whose) => {
    const url = await endingServer();
    const pool = new pg.Pool({ connectionString: url });
    pool.on("error", () => {});
    onTestFinished(() => pool.end());
    const connections = new Connections(whose === "of our own" ? { url } : { pool });
    onTestFinished(() => connections.close());
    const thrown = uncaught("uncaughtException");
    const client = await connections.dedicated();
    await expect(client.query({ text: "SELECT 1" })).rejects.toThrow(
      /postmaster exit|not queryable|terminated/,
    );
    expect(thrown).toEqual([]);
    client.release(true);
  },
);

it("a store that cannot be opened, since its server ends, does not ask whether something was stored", async () => {
  const states: StoreState[] = [];
  const store = postgresStore({ url: await endingServer(), openWithin: "1ms" });
  const opening = store.open({ ...quietContext(systemClock()), stateChanged: (state) => states.push(state) });
  await expect(opening).rejects.toMatchObject({ code: "ERR_STORE_FAILED" });
  await expect(opening).rejects.not.toThrow("whether this was stored");
  await store.close();
});

it("a password that is to be hashed with MD5 is told of on a machine in FIPS mode, and does not end the process", async () => {
  const spy = vi.spyOn(crypto, "createHash").mockImplementation(() => {
    throw new Error("error:0308010C:digital envelope routines::unsupported");
  });
  onTestFinished(() => spy.mockRestore());
  const thrown = uncaught("uncaughtException");
  const askForMd5 = message("R", Buffer.from([0, 0, 0, 5, 1, 2, 3, 4]));
  const store = postgresStore({ url: await answering((socket) => socket.write(askForMd5)) });
  await expect(store.open(quietContext(systemClock()))).rejects.toMatchObject({
    code: "ERR_STORE_OPEN",
    message: expect.stringContaining("Set password_encryption of the database to scram-sha-256"),
  });
  await store.close();
  expect(thrown).toEqual([]);
});
