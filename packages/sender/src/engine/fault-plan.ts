import type { DeliveryInfo } from "../delivery/delivery.ts";
import { type Fault, faults, isFault } from "../faults/fault.ts";
import { checkOptionNames, type Hints, type Names } from "../options/option-names.ts";
import type { FaultScope, InjectedFault } from "../sender.ts";

interface Plan {
  readonly fault: Fault;
  readonly scope: FaultScope;
  remaining: number;
}

const scopeNames: Names<FaultScope> = { endpoint: true, deliveryId: true, messageId: true, times: true };
const scopeHints: Hints = { url: "it is called endpoint here", count: "it is called times here" };

/** The faults that are still to strike, in the order they were injected. */
export class FaultPlan {
  #plans: Plan[] = [];

  /** @throws TypeError when there is no such fault or option, or `times` is no count */
  inject(fault: Fault, scope: FaultScope): InjectedFault {
    checkOptionNames("inject()", scope, scopeNames, scopeHints);
    const times = scope.times ?? 1;
    if (!isFault(fault)) {
      throw new TypeError(`There is no fault ${JSON.stringify(fault)}. There are: ${faults.join(", ")}.`);
    }
    if (!(times === Number.POSITIVE_INFINITY || (Number.isInteger(times) && times > 0))) {
      throw new TypeError("inject({ times }) must be a whole number, at least 1, or Infinity.");
    }
    const plan: Plan = { fault, scope: { ...scope }, remaining: times };
    this.#plans.push(plan);
    return {
      get remaining() {
        return plan.remaining;
      },
      cancel: () => {
        plan.remaining = 0;
        this.#forgetSpent();
      },
    };
  }

  /** The fault that strikes this attempt, if one does. */
  takeForAttempt(delivery: DeliveryInfo, endpoint: string): Fault | undefined {
    return this.#take(delivery, [endpoint], (fault) => fault !== "reorder");
  }

  /** The fault that strikes this delivery before anything of it is sent, if one does. */
  takeForDelivery(delivery: DeliveryInfo, endpoints: readonly string[]): Fault | undefined {
    return this.#take(delivery, endpoints, (fault) => fault === "reorder");
  }

  #take(
    delivery: DeliveryInfo,
    endpoints: readonly string[],
    isOfKind: (fault: Fault) => boolean,
  ): Fault | undefined {
    const plan = this.#plans.find(
      ({ fault, scope }) =>
        isOfKind(fault) &&
        (scope.endpoint === undefined || endpoints.includes(scope.endpoint)) &&
        (scope.deliveryId === undefined || scope.deliveryId === delivery.id) &&
        (scope.messageId === undefined || scope.messageId === delivery.messageId),
    );
    if (plan === undefined) return undefined;
    plan.remaining -= 1;
    this.#forgetSpent();
    return plan.fault;
  }

  #forgetSpent(): void {
    this.#plans = this.#plans.filter(({ remaining }) => remaining > 0);
  }
}
