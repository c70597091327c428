import type { Delivery } from "@countersign/sender";
import {
  type Acceptance,
  type Accepted,
  type Consumer,
  type DeliveryCounts,
  type DeliveryFilter,
  type DeliveryHandler,
  type DeliveryStore,
  type DeliverySummary,
  type DueDelivery,
  isAfterCursor,
  type KnownTrait,
  limitOf,
  type ListOrder,
  matchesFilter,
  newestFirst,
  type NewCall,
  type NewMessage,
  type NextDelivery,
  oldestFirst,
  parseCursor,
  type SkippedCall,
  type SkippedFilter,
  StoreError,
  type StoreContext,
  type TraitChanges,
  type TraitOwner,
  valuesOf,
} from "@countersign/sender/store";

interface Job {
  readonly seq: number;
  due: DueDelivery;
  delivery: Delivery;
  isActive: boolean;
}

interface Trait {
  readonly owner: TraitOwner;
  version: number;
}

const MOST_SKIPPED = 10_000;

/**
 * A store made the way a job queue works: workers are handed jobs, and say that a job is done or delayed until later.
 * Keeps everything in memory; there to show that the port suits a queue.
 */
export class QueueStore implements DeliveryStore {
  readonly #jobs = new Map<string, Job>();
  readonly #usage = new Map<string, number>();
  readonly #keys = new Map<string, number>();
  #skipped: SkippedCall[] = [];
  readonly #values = new Map<string, Map<string, string>>();
  readonly #traits = new Map<string, Trait>();
  readonly #workers = new Map<string, () => void>();
  readonly #consumers = new Set<Consumer>();
  #jobsEver = 0;
  #isClosed = false;
  #context: StoreContext | undefined;

  open(context: StoreContext): Promise<{ readonly generation: number }> {
    this.#context = context;
    context.stateChanged({ state: "up" });
    return Promise.resolve({ generation: 0 });
  }

  async accept(acceptance: Acceptance): Promise<Accepted> {
    await Promise.resolve();
    const { calls, messages, deliveries, traits, uniqueForMs } = acceptance;
    const own = new Set<string>();
    const repeats = [...calls.keys()].filter(
      (position) => uniqueForMs !== undefined && this.#isRepeat(calls[position] as NewCall, uniqueForMs, own),
    );
    // Whoever did not hear that it was stored repeats it.
    const skipped = new Set(this.#skipped.map(({ id }) => id));
    const isKnown = calls.some((call) => call.skipped !== undefined && skipped.has(call.skipped.id));
    if (isKnown || deliveries.some(({ id }) => this.#jobs.has(id))) return { repeats };
    if (traits !== undefined) this.#changeTraits(traits);
    for (const [position, call] of calls.entries()) if (!repeats.includes(position)) this.#addCall(call);
    for (const { id, destination, message: position } of deliveries) {
      const message = messages[position];
      if (message === undefined) throw new TypeError("A delivery names no message.");
      if (!repeats.includes(message.call)) this.#add(id, destination, message);
    }
    return { repeats };
  }

  async repeat(id: string, next: NextDelivery): Promise<boolean> {
    await Promise.resolve();
    const original = this.#jobs.get(id)?.delivery;
    if (original === undefined) return false;
    if (this.#jobs.has(next.id)) throw new StoreError("ERR_STORE_FAILED", "The id is in use.");
    const { acceptedAt, message } = next;
    this.#add(
      next.id,
      original.destination,
      { ...original, ...(message && { event: undefined, ...message }), acceptedAt },
      id,
    );
    return true;
  }

  async hasten(id: string): Promise<boolean> {
    await Promise.resolve();
    const job = this.#jobs.get(id);
    if (job === undefined || job.isActive || job.delivery.state !== "pending") return false;
    this.#hasten(job, Math.min(this.#now(), job.due.dueAt));
    this.#workers.get(job.delivery.destination)?.();
    return true;
  }

  async hastenAll(deliveries: readonly { readonly id: string }[], dueAt: number): Promise<number> {
    await Promise.resolve();
    const latest = Math.max(dueAt, this.#now());
    const later = deliveries.flatMap(({ id }) => {
      const job = this.#jobs.get(id);
      return job?.delivery.state === "pending" && !job.isActive && job.due.dueAt > latest ? [job] : [];
    });
    for (const job of later) this.#hasten(job, dueAt);
    for (const destination of new Set(later.map(({ delivery }) => delivery.destination)))
      this.#workers.get(destination)?.();
    return later.length;
  }

  async remove(filter: DeliveryFilter): Promise<number> {
    const found = this.#matching(filter).filter((one) => one.state !== "pending" && !this.#isEvidence(one));
    const removed = found.slice(0, limitOf(filter));
    for (const { id } of removed) this.#jobs.delete(id);
    return Promise.resolve(removed.length);
  }

  /** Whether a resend knows by it that what has failed has arrived since. */
  #isEvidence({ state, resendOf, messageId, destination }: DeliverySummary): boolean {
    if (state !== "delivered" || resendOf === undefined) return false;
    return this.#matching({ messageId, destination, state: ["failed", "expired"] }).length > 0;
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
        .filter(({ due }) => due.dueAt <= this.#now())
        .toSorted((a, b) => a.due.dueAt - b.due.dueAt || a.seq - b.seq);
      for (const job of isStopped ? [] : waiting.slice(0, Math.max(concurrency - running.size, 0))) {
        const run: Promise<void> = this.#process(job, handler).finally(() => {
          running.delete(run);
          work();
        });
        running.add(run);
      }
    };
    this.#workers.set(destination, work);
    work();
    const consumer: Consumer = {
      stop: async () => {
        isStopped = true;
        if (this.#workers.get(destination) === work) this.#workers.delete(destination);
        while (running.size > 0) await Promise.all(running);
        this.#consumers.delete(consumer);
      },
    };
    this.#consumers.add(consumer);
    return consumer;
  }

  find(id: string): Promise<Delivery | undefined> {
    return Promise.resolve(this.#jobs.get(id)?.delivery);
  }

  async list(filter: DeliveryFilter, order?: ListOrder): Promise<readonly DeliverySummary[]> {
    await Promise.resolve();
    if (this.#isClosed) throw new StoreError("ERR_STORE_CLOSED", "The store is closed.");
    const { after, ...others } = filter;
    const cursor = after === undefined ? undefined : parseCursor(after);
    const compare = order === "oldest first" ? oldestFirst : newestFirst;
    return this.#matching(others)
      .toSorted(compare)
      .filter((summary) => cursor === undefined || compare(summary, cursor) > 0)
      .slice(0, limitOf(filter));
  }

  count(filter: DeliveryFilter): Promise<number> {
    return Promise.resolve(this.#matching({ ...filter, after: undefined }).length);
  }

  skipped(filter: SkippedFilter): Promise<readonly SkippedCall[]> {
    const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY, source, reason, q } = filter;
    const after = filter.after === undefined ? undefined : parseCursor(filter.after);
    const found = this.#skipped
      .filter(({ acceptedAt }) => acceptedAt >= since && acceptedAt < until)
      .filter((call) => after === undefined || isAfterCursor(call, after))
      .filter((call) => source === undefined || valuesOf(source).includes(call.source))
      .filter((call) => reason === undefined || valuesOf(reason).includes(call.reason))
      .filter(
        ({ messageId, identity, event }) =>
          q === undefined || messageId === q || identity === q || event?.startsWith(q) === true,
      );
    return Promise.resolve(found.toSorted(newestFirst).slice(0, limitOf(filter)));
  }

  counts(): Promise<ReadonlyMap<string, DeliveryCounts>> {
    const counts = new Map<string, DeliveryCounts>();
    for (const { delivery, due } of this.#jobs.values()) {
      const { destination, state, acceptedAt } = delivery;
      const known = counts.get(destination) ?? { pending: 0, delivered: 0, failed: 0, expired: 0 };
      const times = {
        oldestPendingAt: Math.min(known.oldestPendingAt ?? acceptedAt, acceptedAt),
        nextDueAt: Math.min(known.nextDueAt ?? due.dueAt, due.dueAt),
      };
      counts.set(destination, {
        ...known,
        [state]: known[state] + 1,
        ...(state === "pending" ? times : {}),
      });
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
    const known = this.#traits.get(`${source}/${trait}`);
    return Promise.resolve({
      owner: known?.owner,
      values: new Map(values),
      version: String(known?.version ?? 0),
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#consumers].map((consumer) => consumer.stop()));
  }

  async #process(job: Job, handler: DeliveryHandler): Promise<void> {
    const release = this.#context?.clock.hold();
    job.isActive = true;
    const { due } = job;
    const settlement = await handler.deliver(due, new AbortController().signal);
    job.isActive = false;
    const attempts = [...job.delivery.attempts, ...settlement.attempts];
    job.delivery = { ...job.delivery, attempts };
    if (settlement.state === "pending") {
      const { dueAt, rounds, progress } = settlement;
      this.#postpone(job, { ...due, dueAt, rounds, progress });
    } else {
      const { state, endedAt } = settlement;
      job.delivery = { ...job.delivery, state, endedAt, dueAt: undefined };
      this.#context?.ended(job.delivery.id);
    }
    handler.settled(due, settlement);
    release?.();
  }

  #hasten(job: Job, dueAt: number): void {
    const progress = Object.fromEntries(
      Object.entries(job.due.progress).map(([url, { rejected }]) => [url, { rejected }]),
    );
    this.#postpone(job, { ...job.due, dueAt, progress });
  }

  #postpone(job: Job, due: DueDelivery): void {
    job.due = due;
    job.delivery = { ...job.delivery, dueAt: due.dueAt };
    this.#context?.clock.schedule(due.dueAt, () => this.#workers.get(job.delivery.destination)?.());
  }

  #now(): number {
    return this.#context?.clock.now() ?? 0;
  }

  #matching(filter: DeliveryFilter): DeliverySummary[] {
    return [...this.#jobs.values()]
      .map(({ delivery }) => summaryOf(delivery))
      .filter((summary) => matchesFilter(summary, filter))
      .toSorted(newestFirst);
  }

  /** @param own The keys of the acceptance so far; its own is added. */
  #isRepeat({ source, key, acceptedAt }: NewCall, uniqueForMs: number, own: Set<string>): boolean {
    if (key === undefined) return false;
    const known = JSON.stringify([source, key]);
    const at = this.#keys.get(known);
    if (own.has(known) || (at !== undefined && at > acceptedAt - uniqueForMs)) return true;
    own.add(known);
    this.#keys.set(known, acceptedAt);
    return false;
  }

  #addCall({ counted, skipped, source, messageId, type, identity, event, acceptedAt }: NewCall): void {
    if (counted) this.#usage.set(source, (this.#usage.get(source) ?? 0) + 1);
    if (skipped === undefined) return;
    this.#skipped.push({ ...skipped, messageId, type, source, identity, event, acceptedAt });
    this.#skipped = this.#skipped.slice(-MOST_SKIPPED);
  }

  #add(id: string, destination: string, message: Omit<NewMessage, "call">, resendOf?: string): void {
    const { messageId, type, source, identity, event, acceptedAt, body } = message;
    const info = { id, destination, messageId, type, source, identity, event, acceptedAt };
    this.#jobsEver += 1;
    this.#jobs.set(id, {
      seq: this.#jobsEver,
      due: { delivery: info, rounds: 0, dueAt: acceptedAt, progress: {}, body },
      delivery: { ...info, body, state: "pending", dueAt: acceptedAt, attempts: [], resendOf },
      isActive: false,
    });
    if (acceptedAt > this.#now())
      this.#context?.clock.schedule(acceptedAt, () => this.#workers.get(destination)?.());
    this.#workers.get(destination)?.();
  }

  #changeTraits({ source, trait, owner, values, version }: TraitChanges): void {
    const known = this.#traits.get(`${source}/${trait}`);
    if (version !== String(known?.version ?? 0))
      throw new StoreError("ERR_STORE_CHANGED", `The trait ${trait} was changed meanwhile. Read it again.`);
    this.#traits.set(`${source}/${trait}`, { owner, version: Number(version) + 1 });
    for (const [destination, byUser] of values) {
      const valuesOfUsers = this.#known(source, trait, destination);
      for (const [user, value] of byUser) {
        if (value === null) valuesOfUsers.delete(user);
        else valuesOfUsers.set(user, value);
      }
    }
  }

  #known(source: string, trait: string, destination: string): Map<string, string> {
    const key = JSON.stringify([source, trait, destination]);
    const known = this.#values.get(key) ?? new Map<string, string>();
    this.#values.set(key, known);
    return known;
  }
}

function summaryOf({ body: _body, attempts, ...info }: Delivery): DeliverySummary {
  const attempt = attempts.at(-1);
  if (attempt === undefined) return { ...info, attempts: 0 };
  const { response: _, cut: _cut, requestHeaders: _sent, responseHeaders: _received, ...last } = attempt;
  return { ...info, attempts: attempts.length, last };
}
