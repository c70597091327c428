import { type Calls, type CallType, parseDuration } from "@countersign/protocol";
import type { Delivery } from "../delivery/delivery.ts";
import type { Acceptance, DeliveryStore } from "../store/delivery-store.ts";
import type { AcceptedCall, Acceptor } from "./acceptor.ts";
import type { CallIntake } from "./call-intake.ts";
import { checkCallOptions, checkDeleteOptions } from "./check-options.ts";
import { type ProfileSync, ProfileSyncer } from "./profile-sync.ts";
import type {
  AcceptOptions,
  CallOptions,
  DeleteOptions,
  JudgedCall,
  Receipt,
  SyncReceipt,
} from "./sender.ts";
import type { Waiters } from "./waiters.ts";

/** The parts that a desk uses. */
interface DeskParts {
  readonly intake: CallIntake;
  readonly store: DeliveryStore;
  readonly acceptor: Acceptor;
  readonly waiters: Waiters;
}

/** Takes calls in, has them stored, and gives receipts for them. */
export class CallDesk {
  readonly #parts: DeskParts;
  readonly #profiles: ProfileSyncer;

  constructor(parts: DeskParts) {
    this.#parts = parts;
    this.#profiles = new ProfileSyncer(parts.intake, parts.store, parts.acceptor);
  }

  async accept<T extends CallType>(type: T, call: Calls[T], options?: CallOptions): Promise<Receipt> {
    const accepted = await this.#parts.acceptor.accept(this.#parts.intake.take(type, call, options));
    // One call in, one out.
    return this.#receiptOf(accepted[0] as AcceptedCall);
  }

  async acceptAll(calls: readonly JudgedCall[], options: AcceptOptions = {}): Promise<readonly Receipt[]> {
    checkCallOptions("accept", options);
    const { uniqueFor } = options;
    const uniqueForMs =
      uniqueFor === undefined ? undefined : parseDuration(uniqueFor, "accept({ uniqueFor })");
    const intake = this.#parts.intake.takeJudged(calls, options);
    return this.#store({ ...intake, uniqueForMs });
  }

  async deleteUser(userId: string, options: DeleteOptions = {}): Promise<readonly Receipt[]> {
    checkDeleteOptions(options);
    const { intake } = this.#parts;
    const named = options.sources?.map((source, index) => intake.sourceOf({ source }, `sources.${index}`));
    const sources = [...new Set(named ?? intake.sources)].filter(({ enabled }) => enabled.length > 0);
    return this.#store(intake.takeDelete(sources, userId, options.timestamp));
  }

  async sync(run: (profiles: ProfileSyncer) => Promise<ProfileSync>): Promise<SyncReceipt> {
    const { acceptor, waiters } = this.#parts;
    const sync = await acceptor.working(run(this.#profiles));
    return { ...sync, settled: () => waiters.settled(sync.deliveries) };
  }

  /** The receipt of a call that is stored. */
  receipt(
    source: string,
    { messageId, deliveries, skipped }: Pick<Receipt, "messageId" | "deliveries" | "skipped">,
  ): Receipt {
    const settled = (): Promise<readonly Delivery[]> => this.#parts.waiters.settled(deliveries, source);
    return { messageId, deliveries, skipped, settled };
  }

  async #store(acceptance: Acceptance): Promise<readonly Receipt[]> {
    const accepted = await this.#parts.acceptor.accept(acceptance);
    return accepted.map((call) => this.#receiptOf(call));
  }

  #receiptOf({ call: { messageId, source, skipped }, deliveries, isRepeat }: AcceptedCall): Receipt {
    return isRepeat
      ? { messageId, deliveries, repeat: true, settled: () => Promise.resolve([]) }
      : this.receipt(source, { messageId, deliveries, skipped: skipped?.reason });
  }
}
