import { lookup as systemLookup, type LookupAddress } from "node:dns";
import { performance } from "node:perf_hooks";
import { clearTimeout, setTimeout } from "node:timers";
import { codeOf } from "@countersign/protocol";
import { Remembered } from "./remembered.ts";

/** Resolves a host name to its addresses: all of them, in the order to try. */
export type ResolveHost = (hostname: string) => Promise<readonly LookupAddress[]>;

/** Asks the operating system, as other programs do. */
const resolveBySystem: ResolveHost = (hostname) =>
  new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true }, (error, addresses) => {
      if (error === null) {
        resolve(addresses);
      } else {
        reject(error);
      }
    });
  });

/** One question at a time for each name: all who wait for it get the same answer. */
export function oneQuestionPerHost(resolveHost: ResolveHost): ResolveHost {
  const asked = new Map<string, Promise<readonly LookupAddress[]>>();
  return (hostname) => {
    const running = asked.get(hostname);
    if (running !== undefined) {
      return running;
    }
    const answer = Promise.resolve(hostname)
      .then(resolveHost)
      .finally(() => asked.delete(hostname));
    asked.set(hostname, answer);
    return answer;
  };
}

/** libuv looks names up on half of its threads, for everything in this process. */
const LOOKUP_THREADS = Math.ceil(Math.max(1, Number(process.env["UV_THREADPOOL_SIZE"] ?? 4) || 4) / 2);

/** An answer that takes longer, in milliseconds, comes from a DNS server that does not answer at first, or at all. */
const SLOW_MS = 1_000;

/**
 * Asks for as many names at once as there are threads for it, and for names that were slow the last time on half of them, after all
 * others. A DNS server that does not answer holds a thread for ten seconds and more: without this, nobody else's name would be looked
 * up meanwhile.
 *
 * @param threads How many questions run at once.
 */
export function slowNamesLast(resolveHost: ResolveHost, threads: number = LOOKUP_THREADS): ResolveHost {
  const slow = new Remembered<true>();
  const waiting: Record<"usual" | "slow", (() => void)[]> = { usual: [], slow: [] };
  const running = { usual: 0, slow: 0 };
  const askNext = (): void => {
    while (running.usual + running.slow < threads) {
      const kind = waiting.usual.length > 0 ? "usual" : "slow";
      if (kind === "slow" && running.slow >= threads / 2) return;
      const ask = waiting[kind].shift();
      if (ask === undefined) return;
      running[kind] += 1;
      ask();
    }
  };
  return (hostname) =>
    new Promise((resolve) => {
      const kind = slow.get(hostname) === true ? "slow" : "usual";
      waiting[kind].push(() => {
        const startedAt = performance.now();
        const asked = Promise.resolve(hostname).then(resolveHost);
        const answer = asked.finally(() => {
          running[kind] -= 1;
          if (performance.now() - startedAt > SLOW_MS) slow.note(hostname, true);
          else slow.forget(hostname);
          askNext();
        });
        resolve(answer);
      });
      askNext();
    });
}

/** How long the last addresses of a name may stand in, in milliseconds. */
const STALE_MS = 3_600_000;

interface Known {
  readonly addresses: readonly LookupAddress[];
  /** On the clock of `performance`. */
  readonly at: number;
}

/**
 * Lets the last addresses of a name stand in, for up to an hour, if there is no answer within `waitMs`, or none because the DNS server
 * fails (RFC 8767). A name that does not exist any more has none.
 */
export function servingStale(resolveHost: ResolveHost, waitMs: number): ResolveHost {
  const known = new Remembered<Known>();
  return async (hostname) => {
    const answer = resolveHost(hostname).then(
      (addresses) => {
        known.note(hostname, { addresses, at: performance.now() });
        return addresses;
      },
      (error: unknown) => {
        if (codeOf(error) === "ENOTFOUND") known.forget(hostname);
        throw error;
      },
    );
    const last = known.get(hostname);
    if (last === undefined || performance.now() - last.at > STALE_MS) return answer;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Known["addresses"]>((resolve) => {
      timer = setTimeout(() => resolve(last.addresses), waitMs);
    });
    const inTime = answer.catch((error: unknown) => {
      if (known.get(hostname) === undefined) throw error;
      return last.addresses;
    });
    return Promise.race([inTime, late]).finally(() => clearTimeout(timer));
  };
}

/** The operating system's resolver, for everybody in this process. */
const askSystem = oneQuestionPerHost(slowNamesLast(resolveBySystem));

/**
 * Resolves names as the operating system does, without letting one that it cannot resolve keep others waiting.
 *
 * @param connectTimeoutMs All that a connection may take, its lookup included.
 */
export function systemResolver(connectTimeoutMs: number): ResolveHost {
  return servingStale(askSystem, Math.min(SLOW_MS, connectTimeoutMs / 2));
}
