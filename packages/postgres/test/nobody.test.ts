import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { StoreState } from "@countersign/sender/store";
import { acceptanceOf, quietContext } from "../../sender/test/support/acceptances.ts";
import { delivering } from "./support/delivering.ts";
import { newSchema, NO_POSTGRES, startPostgres } from "./support/start-postgres.ts";
import { until } from "./support/until.ts";

const server = await startPostgres({ fsync: "off" });
const url = server?.url ?? "postgres://127.0.0.1";

describe.skipIf(server === undefined)(
  `calls that no process delivers (${server === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    afterAll(() => server?.stop());

    it("are told of by the process that accepts them, until one does", async () => {
      const schema = newSchema();
      const store = postgresStore({ url, schema, lease: "1s" });
      const states: StoreState[] = [];
      const stateChanged = (state: StoreState): void => void states.push(state);
      await store.open({ ...quietContext(systemClock()), stateChanged });
      onTestFinished(() => store.close());
      expect(states.at(-1)).toEqual({ state: "up", reason: undefined });
      await store.accept(acceptanceOf([{ id: "d1", destination: "shop/crm", acceptedAt: Date.now() }]));
      await until("it is told", () => states.at(-1)?.reason?.startsWith("No process delivers") === true);
      expect(states.at(-1)?.state).toBe("up");
      const { handler, ended } = delivering();
      store.consume("shop/crm", 10, handler);
      await until(
        "it is delivered, and that is told",
        () => ended.has("d1") && states.at(-1)?.reason === undefined,
      );
    });
  },
);
