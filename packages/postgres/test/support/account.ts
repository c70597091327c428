import { ask } from "./start-postgres.ts";
import type { Tally } from "./tally.ts";
import { until } from "./until.ts";

/** What became of what was accepted. */
export interface Account {
  readonly accepted: number;
  readonly delivered: number;
  readonly failed: number;
  readonly expired: number;
  readonly pending: number;
  /** Accepted messages that no request brought and that are not pending. */
  readonly lost: readonly string[];
  /** Requests beyond the first of each message. */
  readonly repeats: number;
}

/** Where a store is. */
export interface Place {
  readonly url: string;
  readonly schema: string;
}

type Counts = Pick<Account, "pending" | "delivered" | "failed" | "expired">;

/** Generous: it only ends a test that would wait for ever. */
const ARRIVES_WITHIN_MS = 400_000;

/** Reads what the store has counted, and counts its rows, with one command. */
async function countsOf({ url, schema }: Place): Promise<readonly [Counts, Counts]> {
  const state = (name: string): string => `count(*) FILTER (WHERE state = '${name}')::int AS ${name}`;
  const rows = await ask<Counts>(
    url,
    `SELECT coalesce(sum(pending), 0)::int AS pending, coalesce(sum(delivered), 0)::int AS delivered,
       coalesce(sum(failed), 0)::int AS failed, coalesce(sum(expired), 0)::int AS expired FROM ${schema}.tally
     UNION ALL SELECT (SELECT count(*) FROM ${schema}.delivery)::int, ${["delivered", "failed", "expired"].map(state).join(", ")}
       FROM ${schema}.ended`,
  );
  const [told, counted] = rows;
  if (told === undefined || counted === undefined) throw new Error("The database has no counts.");
  return [told, counted];
}

/** Compares what was accepted, what arrived and what the database holds. */
async function accountOf(
  place: Place,
  accepted: ReadonlySet<string>,
  tally: Pick<Tally, "arrivals">,
): Promise<Account> {
  const [told, counted] = await countsOf(place);
  if (JSON.stringify(told) !== JSON.stringify(counted))
    throw new Error(`The store counts ${JSON.stringify(told)}, and has ${JSON.stringify(counted)}.`);
  const arrived = [...tally.arrivals.values()];
  return {
    accepted: accepted.size,
    ...told,
    lost: told.pending > 0 ? [] : [...accepted].filter((id) => !tally.arrivals.has(id)),
    repeats: arrived.reduce((sum, times) => sum + times.length - 1, 0),
  };
}

/** Resolves when at most `pending` deliveries are pending; the database may be away meanwhile. */
export async function untilSettled(
  place: Place,
  accepted: ReadonlySet<string>,
  tally: Pick<Tally, "arrivals">,
  pending = 0,
): Promise<Account> {
  const hasArrived = (id: string): boolean => tally.arrivals.has(id);
  await until("everything accepted arrived", () => [...accepted].every(hasArrived), ARRIVES_WITHIN_MS).catch(
    async (error: unknown) => {
      print(await accountOf(place, accepted, tally));
      throw error;
    },
  );
  const isSettled = async (): Promise<boolean> => {
    const [told] = await countsOf(place).catch(() => []);
    return told !== undefined && told.pending <= pending;
  };
  await until("nothing is pending", isSettled);
  const account = await accountOf(place, accepted, tally);
  print(account);
  return account;
}

/** Prints the line of a test: what was accepted is delivered, failed, expired or pending. */
function print({ accepted, delivered, failed, expired, pending, lost, repeats }: Account): void {
  const sum = `accepted ${accepted} = delivered ${delivered} + failed ${failed} + expired ${expired} + pending ${pending}`;
  process.stdout.write(`${sum}; ${lost.length} lost, ${repeats} repeats\n`);
}

/** A line that says more of the same test. */
export function printMore(text: string): void {
  process.stdout.write(`${text}\n`);
}
