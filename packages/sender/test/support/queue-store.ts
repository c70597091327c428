import type { Delivery } from "@countersign/sender";
import type {
  Acceptance,
  Consumer,
  DeliveryCounts,
  DeliveryHandler,
  DeliveryStore,
  DueDelivery,
  KnownTrait,
  NewMessage,
  StoreContext,
  TraitChanges,
  TraitOwner,
} from "@countersign/sender/store";

interface Job {
  readonly seq: number;
  due: DueDelivery;
  delivery: Delivery;
  isActive: boolean;
}

/**
 * A store made the way a job queue works: workers are handed jobs, and say that a job is done or delayed until later.
 * Keeps everything in memory; there to show that the port suits a queue.
 */
export class QueueStore implements DeliveryStore {
  readonly #jobs = new Map<string, Job>();
  readonly #usage = new Map<string, number>();
  readonly #traits = new Map<string, Map<string, string>>();
  readonly #owners = new Map<string, TraitOwner>();
  readonly #workers = new Map<string, () => void>();
  #context: StoreContext | undefined;

  open(context: StoreContext): Promise<{ readonly generation: number }> {
    this.#context = context;
    return Promise.resolve({ generation: 0 });
  }

  async accept({ messages, deliveries, usage, traits }: Acceptance): Promise<void> {
    await Promise.resolve();
    for (const [source, calls] of usage ?? [])
      this.#usage.set(source, (this.#usage.get(source) ?? 0) + calls);
    if (traits !== undefined) this.#changeTraits(traits);
    for (const { id, destination, message } of deliveries) this.#add(id, destination, messages[message]);
  }

  async repeat(id: string, next: { readonly id: string; readonly acceptedAt: number }): Promise<boolean> {
    await Promise.resolve();
    const original = this.#jobs.get(id)?.delivery;
    if (original === undefined) return false;
    this.#add(next.id, original.destination, { ...original, acceptedAt: next.acceptedAt });
    return true;
  }

  consume(destination: string, concurrency: number, handler: DeliveryHandler): Consumer {
    const running = new Set<Promise<void>>();
    let isStopped = false;
    const work = (): void => {
      const waiting = [...this.#jobs.values()]
        .filter(
          (job) =>
            job.delivery.destination === destination && job.delivery.state === "pending" && !job.isActive,
        )
        .filter(({ due }) => due.dueAt <= (this.#context?.clock.now() ?? 0))
        .toSorted((a, b) => a.due.dueAt - b.due.dueAt || a.seq - b.seq);
      for (const job of isStopped ? [] : waiting.slice(0, concurrency - running.size)) {
        const run: Promise<void> = this.#process(job, handler).finally(() => {
          running.delete(run);
          work();
        });
        running.add(run);
      }
    };
    this.#workers.set(destination, work);
    work();
    return {
      async stop() {
        isStopped = true;
        await Promise.all(running);
      },
    };
  }

  find(id: string): Promise<Delivery | undefined> {
    return Promise.resolve(this.#jobs.get(id)?.delivery);
  }

  list(): Promise<readonly Delivery[]> {
    return Promise.resolve([...this.#jobs.values()].map(({ delivery }) => delivery).toReversed());
  }

  counts(): Promise<ReadonlyMap<string, DeliveryCounts>> {
    const counts = new Map<string, DeliveryCounts>();
    for (const { delivery } of this.#jobs.values()) {
      const known = counts.get(delivery.destination) ?? { pending: 0, delivered: 0, failed: 0, expired: 0 };
      known[delivery.state] += 1;
      counts.set(delivery.destination, known);
    }
    return Promise.resolve(counts);
  }

  usage(): Promise<ReadonlyMap<string, number>> {
    return Promise.resolve(this.#usage);
  }

  traits(source: string, trait: string, destinations: readonly string[]): Promise<KnownTrait> {
    const values = destinations.map(
      (destination) => [destination, new Map(this.#known(source, trait, destination))] as const,
    );
    return Promise.resolve({ owner: this.#owners.get(`${source}/${trait}`), values: new Map(values) });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #process(job: Job, handler: DeliveryHandler): Promise<void> {
    const release = this.#context?.clock.hold();
    job.isActive = true;
    const settlement = await handler.deliver(job.due);
    job.isActive = false;
    const attempts = [...job.delivery.attempts, ...settlement.attempts];
    const { state } = settlement;
    job.delivery = { ...job.delivery, state, attempts };
    if (settlement.state === "pending") {
      const { dueAt, rounds, progress } = settlement;
      job.due = { ...job.due, dueAt, rounds, progress };
      this.#context?.clock.schedule(dueAt, () => this.#workers.get(job.delivery.destination)?.());
    } else {
      job.delivery = { ...job.delivery, endedAt: settlement.endedAt };
      this.#context?.ended(job.delivery.id);
    }
    handler.settled(job.due, settlement);
    release?.();
  }

  #add(id: string, destination: string, message: NewMessage | undefined): void {
    if (message === undefined) throw new TypeError("A delivery names no message.");
    const { messageId, type, source, identity, event, acceptedAt, body } = message;
    const info = { id, destination, messageId, type, source, identity, event, acceptedAt };
    this.#jobs.set(id, {
      seq: this.#jobs.size,
      due: { delivery: info, rounds: 0, dueAt: acceptedAt, progress: {}, body },
      delivery: { ...info, body, state: "pending", dueAt: acceptedAt, attempts: [] },
      isActive: false,
    });
    this.#workers.get(destination)?.();
  }

  #changeTraits({ source, trait, owner, values }: TraitChanges): void {
    this.#owners.set(`${source}/${trait}`, owner);
    for (const [destination, byUser] of values) {
      const known = this.#known(source, trait, destination);
      for (const [user, value] of byUser) {
        if (value === null) known.delete(user);
        else known.set(user, value);
      }
    }
  }

  #known(source: string, trait: string, destination: string): Map<string, string> {
    const key = JSON.stringify([source, trait, destination]);
    const known = this.#traits.get(key) ?? new Map<string, string>();
    this.#traits.set(key, known);
    return known;
  }
}
