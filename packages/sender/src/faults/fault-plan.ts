import { checkOptionNames, ENDPOINT_SYNONYMS, type OptionNames } from "@countersign/protocol";
import type { DeliveryInfo } from "../delivery/delivery.ts";
import { type Fault, FAULTS, type FaultScope, type InjectedFault, isFault } from "./fault.ts";

interface Plan {
  readonly fault: Fault;
  readonly scope: FaultScope;
  remaining: number;
  struck: number;
}

const SCOPE_NAMES: OptionNames<FaultScope> = {
  endpoint: ENDPOINT_SYNONYMS,
  deliveryId: true,
  messageId: true,
  times: ["count"],
};

/** The faults that still have an effect, in the order they were injected. */
export class FaultPlan {
  #plans: Plan[] = [];

  /** @throws TypeError when there is no such fault or option, or `times` is not a count */
  inject(fault: Fault, scope: FaultScope): InjectedFault {
    checkOptionNames("inject()", scope, SCOPE_NAMES);
    const times = scope.times ?? 1;
    if (!isFault(fault)) {
      throw new TypeError(
        `inject(): unknown fault ${JSON.stringify(fault)}. Known faults: ${FAULTS.join(", ")}; the status may be any from 200 to 599.`,
      );
    }
    if (!(times === Number.POSITIVE_INFINITY || (Number.isInteger(times) && times > 0))) {
      throw new TypeError("inject({ times }) must be a whole number, at least 1, or Infinity.");
    }
    const plan: Plan = { fault, scope: { ...scope }, remaining: times, struck: 0 };
    this.#plans.push(plan);
    return {
      get remaining() {
        return plan.remaining;
      },
      get struck() {
        return plan.struck;
      },
      cancel: () => {
        plan.remaining = 0;
        this.#forgetSpent();
      },
    };
  }

  /** The fault that affects this attempt, if there is one. */
  takeForAttempt(delivery: DeliveryInfo | undefined, endpoint: string): Fault | undefined {
    return this.#take(delivery, [endpoint], (fault) => fault !== "reorder");
  }

  /** Whether `reorder` affects this delivery before its first attempt. */
  takeReorder(delivery: DeliveryInfo, endpoints: readonly string[]): boolean {
    return this.#take(delivery, endpoints, (fault) => fault === "reorder") !== undefined;
  }

  #take(
    delivery: DeliveryInfo | undefined,
    endpoints: readonly string[],
    isOfKind: (fault: Fault) => boolean,
  ): Fault | undefined {
    const plan = this.#plans.find(
      ({ fault, scope }) =>
        isOfKind(fault) &&
        (scope.endpoint === undefined || endpoints.includes(scope.endpoint)) &&
        (scope.deliveryId === undefined || scope.deliveryId === delivery?.id) &&
        (scope.messageId === undefined || scope.messageId === delivery?.messageId),
    );
    if (plan === undefined) return undefined;
    plan.remaining -= 1;
    plan.struck += 1;
    this.#forgetSpent();
    return plan.fault;
  }

  #forgetSpent(): void {
    this.#plans = this.#plans.filter(({ remaining }) => remaining > 0);
  }
}
