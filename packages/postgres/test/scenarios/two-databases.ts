import { type Account, type Place, untilSettled } from "../support/account.ts";
import { acceptUntilAnswered, FleetNode } from "../support/fleet.ts";
import type { TestPostgres } from "../support/start-postgres.ts";
import { startTally } from "../support/tally.ts";
import { until } from "../support/until.ts";

/** What came of it. */
export interface TwoDatabases {
  /** Of the source in the database that was always there. */
  readonly stayed: Account;
  /** Of the source in the one that was down. */
  readonly went: Account;
  /** How a call to the source in the database that was down was answered. */
  readonly refusedWith: string | undefined;
}

const AT_ONCE = 10;

/** Two databases by source, of which one is killed under load, and comes back after the other has taken everything. */
export async function twoDatabases(
  main: Place,
  { server, schema }: { readonly server: TestPostgres; readonly schema: string },
  messages: number,
): Promise<TwoDatabases> {
  const tally = await startTally();
  const other = { url: server.url, schema };
  const start = (role: "both" | "worker"): Promise<FleetNode> =>
    FleetNode.start({ ...main, other, role, lease: "2s", to: tally.url });
  const [node, worker] = [await start("both"), await start("worker")];
  const accepted = { shop: new Set<string>(), app: new Set<string>() };
  const load = async (source: "shop" | "app", first: number, count: number): Promise<void> => {
    for (let from = first; from < first + count; from += AT_ONCE) {
      await acceptUntilAnswered(() => node, from, AT_ONCE, source);
      for (let index = from; index < from + AT_ONCE; index += 1) accepted[source].add(`m${index}`);
    }
  };
  await Promise.all([load("shop", 0, messages), load("app", 100_000, messages)]);
  const loading = load("app", 200_000, messages);
  await until("some of it is accepted", () => accepted.app.size > messages);
  server.signal("SIGKILL");
  await load("shop", 50_000, messages);
  const arrived = (): boolean => [...accepted.shop].every((id) => tally.arrivals.has(id));
  await until("the source in the database that is there is not affected", arrived);
  const refused = await node.acceptOrRefuse(300_000, AT_ONCE, "app");
  await server.start();
  await loading;
  const arrivalsOf = (ids: ReadonlySet<string>) => ({
    arrivals: new Map([...tally.arrivals].filter(([id]) => ids.has(id))),
  });
  const ends = async (place: Place, ids: ReadonlySet<string>): Promise<Account> => {
    await until("they arrived", () => [...ids].every((id) => tally.arrivals.has(id)));
    return untilSettled(place, ids, arrivalsOf(ids));
  };
  const [stayed, went] = [await ends(main, accepted.shop), await ends(other, accepted.app)];
  for (const one of [node, worker]) await one.close();
  return { stayed, went, refusedWith: refused?.code };
}
