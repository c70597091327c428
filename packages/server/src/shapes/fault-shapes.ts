import type { Fault } from "@countersign/sender/faults";

/** A fault that was injected, as the API and its events show it. */
export interface FaultJson {
  readonly id: number;
  readonly fault: Fault | "rate_limit";
  /** The deliveries that it affects; empty for any delivery. */
  readonly scope: {
    readonly endpoint?: string;
    readonly deliveryId?: string;
    readonly messageId?: string;
    /** Of a rate limit: the value of Retry-After. */
    readonly seconds?: number;
  };
  /** How many more times it will be injected. */
  readonly remaining: number | "unlimited";
}
