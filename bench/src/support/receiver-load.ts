import type { Contender } from "../harness/contest.ts";
import { startChild, withChildren, type Child } from "./child.ts";
import { Load, type LoadRequest } from "./load.ts";
import { SECRET, type SignedMessage } from "./messages.ts";

/**
 * How many requests a turn has: a number and not a time, so that code gets as warm on a busy machine as on a quiet one. A turn
 * takes a tenth of a second or less: the speed of a shared machine changes within a second.
 */
const REQUESTS = 500;

/** How receivers are compared: eight thousand requests a round, and three rounds until their code is optimised. */
export const TURNS = { turns: 16, warmups: 3 };

/** A receiver to load: a framework and a way to verify in it, of `children/receivers.ts`. */
export interface ReceiverUnderLoad {
  /** Its name as a contender. */
  readonly name: string;
  readonly framework: string;
  readonly contender: string;
  readonly request: LoadRequest;
}

/** The request that carries a message. */
export function requestOf({ body, signature }: SignedMessage, status = 204): LoadRequest {
  return { body, headers: { "content-type": "application/json", "x-signature": signature }, status };
}

/**
 * Runs `action` with a contender for each receiver, each in a process of its own. They measure how many requests they
 * answer in a second of CPU time of that process, which on a quiet machine is a second.
 */
export function withReceivers<T>(
  receivers: readonly ReceiverUnderLoad[],
  connections: number,
  action: (contenders: readonly Contender[]) => Promise<T>,
): Promise<T> {
  const starting = receivers.map(({ framework, contender }) =>
    startChild("receivers", [framework, contender, SECRET]),
  );
  return withChildren(starting, async (...children) => {
    const loads = await Promise.all(
      children.map(({ ready }, index) =>
        Load.open(ready as number, connections, (receivers[index] as ReceiverUnderLoad).request),
      ),
    );
    try {
      return await action(
        receivers.map(({ name }, index) => ({
          name,
          measure: () => requestsPerSecond(children[index] as Child, loads[index] as Load),
        })),
      );
    } finally {
      for (const load of loads) load.close();
    }
  });
}

async function requestsPerSecond(child: Child, load: Load): Promise<number> {
  const before = (await child.ask("cpu")) as number;
  await load.run(REQUESTS);
  const after = (await child.ask("cpu")) as number;
  return (REQUESTS / (after - before)) * 1_000_000;
}
