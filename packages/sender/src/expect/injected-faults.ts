import type { Fault, FaultScope, InjectedFault } from "../faults/fault.ts";

/** A fault that was injected, and into which deliveries. */
export interface ScopedFault {
  readonly fault: Fault;
  readonly scope: FaultScope;
}

/** Knows the faults that wait for an attempt. A receiver that is tested with a fault that never strikes passes any test. */
export class InjectedFaults {
  #waiting: (ScopedFault & { readonly injected: InjectedFault })[] = [];

  add(fault: Fault, scope: FaultScope, injected: InjectedFault): void {
    this.#waiting = [...this.waiting(), { fault, scope, injected }];
  }

  /** Those that have neither struck nor been cancelled. */
  waiting(): (ScopedFault & { readonly injected: InjectedFault })[] {
    return this.#waiting.filter(({ injected }) => injected.struck === 0 && injected.remaining > 0);
  }
}
