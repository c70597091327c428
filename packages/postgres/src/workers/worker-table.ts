import { StoreError } from "@countersign/sender/store";
import type { Connections, Statement } from "../database/connections.ts";
import { keptStatement } from "../database/kept-statement.ts";
import type { Names } from "../schema/names.ts";
import {
  heartbeatSql,
  type HeartbeatRow,
  joinSql,
  lockSql,
  newListSql,
  releaseOrphansSql,
  releaseOthersSql,
  removeSql,
  type WorkerRow,
  workersSql,
} from "./worker-statements.ts";

/** A worker, and whether it goes by a virtual clock. */
export interface Joining {
  readonly id: string;
  readonly leaseMs: number;
  readonly delivers: boolean;
  readonly isVirtual: boolean;
}

/** A claim that its worker knows of: the delivery as the database writes its id, and the number of the claim. */
export interface KnownClaim {
  readonly id: string;
  readonly claim: number;
}

/** The list of workers in the database. Each change of who is in it gives it a new version. */
export class WorkerTable {
  readonly #connections: Connections;
  readonly #names: Names;
  readonly #heartbeat: Statement;

  constructor(connections: Connections, names: Names) {
    this.#connections = connections;
    this.#names = names;
    this.#heartbeat = keptStatement("beat", heartbeatSql(names));
  }

  /** Resolves to the version of the list with it. Throws {@link VirtualConflict}. */
  join({ id, leaseMs, delivers, isVirtual }: Joining): Promise<number> {
    return this.#connections.transaction("control", async (run) => {
      // First: it locks the list.
      const [list] = await run<{ value: number }>(newListSql(this.#names));
      const others = await run<WorkerRow>(workersSql(this.#names));
      const conflict = others.find((other) => isVirtual || other.virtual);
      if (conflict !== undefined) throw new VirtualConflict(conflict);
      const version = list?.value ?? 0;
      await run(joinSql(this.#names), [id, leaseMs, delivers, isVirtual, version]);
      return version;
    });
  }

  /** It begins to deliver; resolves to the version of the list in which it does. */
  deliver(id: string): Promise<number> {
    return this.#connections.transaction("control", async (run) => {
      const [list] = await run<{ value: number }>(newListSql(this.#names));
      const version = list?.value ?? 0;
      const table = this.#names.table("worker");
      await run(`UPDATE ${table} SET delivers = true, joined = $2, seen = $2 WHERE id = $1`, [id, version]);
      return version;
    });
  }

  /** Extends its lease; resolves to the whole list. */
  beat(id: string, epoch: number, leaseMs: number, seen: number): Promise<readonly HeartbeatRow[]> {
    return this.#connections.query<HeartbeatRow>("control", this.#heartbeat, [id, epoch, leaseMs, seen]);
  }

  /** Removes a worker, if its lease is as it was seen, and releases what it has claimed. */
  async remove(id: string, leaseUntil: number | null): Promise<boolean> {
    const statement = { text: removeSql(this.#names) };
    return (await this.#connections.query("control", statement, [id, leaseUntil])).length > 0;
  }

  /** Releases what is claimed by a worker that is not in the list. */
  async releaseOrphans(): Promise<void> {
    await this.#connections.query("control", { text: releaseOrphansSql(this.#names) });
  }

  /** Begins a new epoch: late commands of the old one claim nothing, and what is not among `claimed` is released. */
  renew(id: string, epoch: number, claimed: () => readonly KnownClaim[]): Promise<void> {
    return this.#connections.transaction("control", async (run) => {
      const [row] = await run<{ epoch: number }>(lockSql(this.#names), [id]);
      // It was taken over: the next heartbeat finds out.
      if (row === undefined) return;
      await run(`UPDATE ${this.#names.table("worker")} SET epoch = $2 WHERE id = $1`, [id, epoch]);
      const known = claimed();
      const [ids, claims] = [known.map((one) => one.id), known.map((one) => one.claim)];
      await run(releaseOthersSql(this.#names), [id, ids, claims]);
    });
  }
}

/** A virtual clock, here or there, and another process that has the schema open. */
export class VirtualConflict extends StoreError {
  readonly other: WorkerRow;

  constructor(other: WorkerRow) {
    super(
      "ERR_STORE_LOCKED",
      "A virtual clock needs the schema for one process alone, and another process has it open. Close that one, or use another database or schema.",
    );
    this.other = other;
  }
}
