import type { AttemptResult, Transport } from "../transport/transport.ts";
import { applyFault } from "./apply-fault.ts";
import type { Fault, FaultScope, InjectedFault } from "./fault.ts";
import { FaultPlan } from "./fault-plan.ts";
import { isOutage, resultOfOutage } from "./outage.ts";
import { judgeCut } from "./wire-fault.ts";

/** A transport into which faults can be injected. */
export interface FaultyTransport extends Transport {
  /**
   * Injects a fault, to test a receiver.
   *
   * @throws TypeError when there is no such fault, or the scope has an unknown or invalid field
   */
  inject(fault: Fault, scope?: FaultScope): InjectedFault;
  /** Holds back the deliveries that `reorder` affects. */
  readonly holdBack: NonNullable<Transport["holdBack"]>;
}

/**
 * Decorates a transport so that faults can be injected into it. Without an injected fault it passes requests through
 * unchanged.
 *
 * @param transport Makes the attempts. It is closed together with the decorator.
 * @example
 * ```ts
 * const transport = faultyTransport(createTransport());
 * const sender = await createSender({ url, secret: "secret", transport });
 * transport.inject("bad_signature", { times: 3 });
 * ```
 */
export function faultyTransport(transport: Transport): FaultyTransport {
  const plan = new FaultPlan();
  return {
    inject: (fault, scope = {}) => plan.inject(fault, scope),
    holdBack(delivery, endpoints) {
      const heldBackMs = transport.holdBack?.(delivery, endpoints) ?? 0;
      return plan.takeReorder(delivery, endpoints)
        ? Math.max(heldBackMs, reorderMs(delivery.id))
        : heldBackMs;
    },
    async send(request, options): Promise<AttemptResult> {
      const fault = plan.takeForAttempt(request.delivery, request.url);
      if (fault === undefined) return transport.send(request, options);
      if (isOutage(fault)) return { ...resultOfOutage(fault, options.timeoutMs), fault };
      const struck = applyFault(request, fault);
      const result = { ...judgeCut(fault, await transport.send(struck, options)), fault };
      if (fault !== "duplicate" || options.signal?.aborted === true) return result;
      return { ...(await transport.send(struck, options)), fault, earlier: [result] };
    },
    close: () => transport.close(),
  };
}

/**
 * How long `reorder` holds a delivery back, in milliseconds of the sender's clock: half a second to a second. What is
 * accepted meanwhile arrives before it, and several held back change their order. The id decides, so that a seeded run
 * repeats.
 */
function reorderMs(deliveryId: string): number {
  let hash = 0;
  for (const character of deliveryId) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
  return 500 + (hash % 500);
}
