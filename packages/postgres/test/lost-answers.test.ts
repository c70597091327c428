import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import type { DeliveryStore } from "@countersign/sender/store";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { passTime } from "../../../tests/support/pass-time.ts";
import { delivering } from "./support/delivering.ts";
import { openBehindProxy } from "./support/open-behind-proxy.ts";
import { ask, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { until } from "./support/until.ts";

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "postgres://127.0.0.1";

afterAll(() => server?.stop());

/** The time stands still: nothing is asked because it is time to ask. */
function freezeTime(laterMs: number): void {
  vi.spyOn(performance, "now").mockReturnValue(performance.now() + laterMs);
  onTestFinished(() => void vi.restoreAllMocks());
}

describe.skipIf(server === undefined)(
  `a worker whose heartbeat breaks off (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    /** A store behind a proxy that delivers, and what it has delivered. */
    async function openStore() {
      const { store, accept: acceptFor, ...rest } = await openBehindProxy(url);
      const { handler, ended } = delivering();
      store.consume("shop/main", 10, handler);
      const accept = (id: string) => acceptFor(id, "shop/main");
      await accept("first");
      await until("it delivers", () => ended.has("first"));
      return { ...rest, store, accept, ended };
    }

    it("asks again what is due, with the next heartbeat: else it would be asked much later", async () => {
      const { proxy } = await openStore();
      const cut = proxy.cutBeforeAnswer(["SELECT w.destination, d.due_at"], 2);
      // It asks, since it is time, and time stands still then.
      freezeTime(60_000);
      await until("it has asked again", () => cut() > 1);
      expect(cut()).toBe(2);
    });

    it("tells the others again that it delivers, if they have not heard it: they may have taken its part", async () => {
      const { proxy, schema, accept, ended } = await openStore();
      const joined = async (): Promise<number> =>
        (await ask<{ joined: number }>(url, `SELECT joined::int FROM ${schema}.worker`))[0]?.joined ?? 0;
      const before = await joined();
      const cut = proxy.cutBeforeCommand(["SET delivers = true, joined"], 1);
      // It has not heard from the database for long.
      passTime(60_000);
      // Where the machine is busy, it may have told so before, too.
      await until("it has told so", async () => cut() === 1 && (await joined()) > before);
      expect(cut()).toBe(1);
      await accept("second");
      await until("it delivers again", () => ended.has("second"));
    });

    it("looks for claims that nobody has, although the answer was lost about a worker that it has removed", async () => {
      const { store, proxy, schema } = await openStore();
      const swept = async (): Promise<boolean> =>
        (await ask(url, `SELECT value FROM ${schema}.meta WHERE key = 'swept'`)).length > 0;
      await until("the next sweep is a minute away", swept);
      await store.accept(acceptanceOf([{ id: "orphan", destination: "shop/other", acceptedAt: Date.now() }]));
      // A claim of the worker was under way while it was removed.
      await ask(url, `UPDATE ${schema}.delivery SET worker = 'gone', claim = 1 WHERE id = 'orphan'`);
      const cut = proxy.cutBeforeAnswer(["folded_counts"], 1);
      await ask(
        url,
        `INSERT INTO ${schema}.worker VALUES ('dead', 1, now() - interval '1 h', now() - interval '1 h', true, false, 1, 1)`,
      );
      const isFree = async (): Promise<boolean> =>
        (await ask(url, `SELECT id FROM ${schema}.delivery WHERE worker IS NULL`)).length > 0;
      await until("it is free", isFree);
      expect(cut()).toBe(1);
    });
  },
);

const DAY_MS = 86_400_000;

/** Each command that makes a delivery due: a text of the command whose answer is lost, and the deliveries that it makes due. */
const MAKING_DUE: readonly (readonly [
  what: string,
  command: {
    readonly text: string;
    readonly due: string;
    readonly make: (store: DeliveryStore) => Promise<unknown>;
  },
])[] = [
  [
    "of a call",
    {
      text: "of a call",
      due: "of a call",
      make: (store) =>
        store.accept(acceptanceOf([{ id: "of a call", destination: "shop/main", acceptedAt: Date.now() }])),
    },
  ],
  [
    "of a call with traits",
    {
      // With the end of the text: BEGIN names an isolation level that begins so.
      text: "COMMIT\0",
      due: "of a trait",
      make: (store) =>
        store.accept({
          ...acceptanceOf([{ id: "of a trait", destination: "shop/main", acceptedAt: Date.now() }]),
          traits: {
            source: "shop",
            trait: "vip",
            owner: { kind: "audience", name: "VIP" },
            version: "0",
            values: new Map([["shop/main", new Map([["u1", "true"]])]]),
          },
        }),
    },
  ],
  [
    "that repeats another",
    {
      text: "copy",
      due: "copy",
      make: (store) => store.repeat("late", { id: "copy", acceptedAt: Date.now() }),
    },
  ],
  [
    "that is hastened",
    {
      text: "SET due_at",
      due: "late",
      make: (store) => store.hasten("late", "shop"),
    },
  ],
  [
    "that is hastened with others",
    {
      text: "SET due_at",
      due: "late",
      make: (store) => store.hastenAll([{ id: "late", source: "shop" }], Date.now()),
    },
  ],
];

describe.skipIf(server === undefined)(
  `a delivery whose command took effect and got no answer (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    /** Delivers at once, but the first attempt at `late` fails: it is tried again a day later. */
    function serve(store: DeliveryStore): ReadonlySet<string> {
      const { handler, ended } = delivering();
      let isFirst = true;
      store.consume("shop/main", 10, {
        ...handler,
        async deliver(due, signal) {
          if (due.delivery.id !== "late" || !isFirst) return handler.deliver(due, signal);
          isFirst = false;
          return { state: "pending", dueAt: Date.now() + DAY_MS, rounds: 1, progress: {}, attempts: [] };
        },
      });
      return ended;
    }

    it.each(MAKING_DUE)("%s is looked for by all processes with the next heartbeat", async (_, one) => {
      const { store, proxy, schema, accept } = await openBehindProxy(url);
      const worker = postgresStore({ url, schema });
      await worker.open(quietContext(systemClock()));
      onTestFinished(() => worker.close());
      const ended = serve(worker);
      const others = async (): Promise<number> => (await ask(url, `SELECT id FROM ${schema}.worker`)).length;
      await until("both are there", async () => (await others()) === 2);
      await accept("late", "shop/main");
      const waiting = `SELECT id FROM ${schema}.delivery WHERE worker IS NULL AND rounds = 1`;
      await until("one waits", async () => (await ask(url, waiting)).length === 1);
      const cut = proxy.cutBeforeAnswer([one.text], 1);
      await expect(one.make(store)).rejects.toThrow("not known");
      expect(cut()).toBe(1);
      freezeTime(1_000);
      await until("it is delivered", () => ended.has(one.due));
    });

    it("is looked for by the process itself with its next heartbeat", async () => {
      const { store, proxy, schema, accept } = await openBehindProxy(url);
      const ended = serve(store);
      await accept("late", "shop/main");
      const waiting = `SELECT id FROM ${schema}.delivery WHERE worker IS NULL AND rounds = 1`;
      await until("one waits", async () => (await ask(url, waiting)).length === 1);
      proxy.cutBeforeAnswer(["copy"], 1);
      await expect(store.repeat("late", { id: "copy", acceptedAt: Date.now() })).rejects.toThrow("not known");
      freezeTime(1_000);
      await until("it is delivered", () => ended.has("copy"));
    });
  },
);
