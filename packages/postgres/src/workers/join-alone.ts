import type { Membership, MembershipListener } from "./membership.ts";
import { VirtualConflict, type WorkerTable } from "./worker-table.ts";

/** A process with a virtual clock that does not extend its lease in this time is dead. */
const ALIVE_MS = 1_500;

/**
 * Joins the list of workers. A process that died with a virtual clock, or beside one, is removed once it has shown no life.
 *
 * @throws StoreError `ERR_STORE_LOCKED` when it lives
 */
export async function joinAlone(
  membership: Membership,
  workers: WorkerTable,
  listener: MembershipListener,
): Promise<void> {
  let suspect: string | undefined;
  for (;;) {
    try {
      await membership.join(listener);
      return;
    } catch (error) {
      if (!(error instanceof VirtualConflict)) throw error;
      const { id, lease_until: leaseUntil } = error.other;
      if (suspect === undefined || !suspect.startsWith(id)) suspect = `${id} ${leaseUntil}`;
      else if (suspect !== `${id} ${leaseUntil}`) throw error;
      else await workers.remove(id, leaseUntil);
      await new Promise((resolve) => setTimeout(resolve, ALIVE_MS));
    }
  }
}
