/** The shapes of the control API that the page reads. Times are ISO 8601, durations milliseconds. */
export type State = "pending" | "delivered" | "failed" | "expired";
type Outcome = "success" | "server_error" | "timeout" | "network" | "rejected" | "tls";
export type Headers = Readonly<Record<string, string>>;

export interface DeliveryInfo {
  readonly id: string;
  readonly messageId: string;
  readonly type: string;
  readonly event?: string;
  readonly source: string;
  readonly destination: string;
  readonly identity: string;
  readonly acceptedAt: string;
  readonly resendOf?: string;
}

export interface AttemptSummary {
  readonly round: number;
  readonly endpoint: string;
  readonly startedAt: string;
  readonly durationMs: number;
  readonly outcome: Outcome;
  /** What came back, in words. */
  readonly answer: string;
  readonly status?: number;
  readonly message?: string;
  readonly fault?: string;
}

export interface Attempt extends AttemptSummary {
  readonly response: string;
  readonly cut?: true;
  readonly requestHeaders?: Headers;
  readonly responseHeaders?: Headers;
}

export interface DeliverySummary extends DeliveryInfo {
  readonly state: State;
  readonly dueAt?: string;
  readonly endedAt?: string;
  readonly last?: AttemptSummary;
}

export interface DeliveryDetail extends DeliverySummary {
  readonly history: readonly Attempt[];
  readonly body: string;
  readonly bodyBase64?: string;
  readonly bytes: number;
  readonly signature?: string;
  readonly curls: readonly { readonly endpoint: string; readonly curl: string }[];
  readonly why: string;
  readonly advice?: string;
}

export interface Count {
  count: number;
  /** The id of the last event that was counted. */
  readonly lastEvent: string;
}

export interface DeliveryPage {
  readonly deliveries: readonly DeliverySummary[];
  readonly next?: string;
}

export interface Receipt {
  readonly messageId: string;
  readonly deliveries: readonly string[];
  readonly skipped?: string;
  readonly repeat?: true;
}

export interface Fault {
  readonly id: number;
  readonly fault: string;
  readonly scope: { readonly endpoint?: string; readonly deliveryId?: string; readonly seconds?: number };
  readonly remaining: number | "unlimited";
}

export interface Clock {
  readonly kind: "system" | "virtual";
  readonly now: string;
  readonly nextDueAt?: string;
  /** While it is being advanced. */
  readonly advancingTo?: string;
}

interface StoreState {
  readonly state: "up" | "down" | "unsafe" | "full";
  readonly reason?: string;
}

export interface Status {
  readonly delivers: boolean;
  readonly kept: "disk" | "memory" | "shared";
  readonly store: StoreState;
  readonly budgetMs: number;
  readonly retryWindowMs: number;
  /** The faults that can be injected. */
  readonly faults: readonly string[];
}

/** What was not delivered as it came: a rejected message, a skipped call, or what was accepted with a warning. */
export interface Lost {
  readonly id?: number | string;
  readonly receivedAt: string;
  /** Of a skipped call, in place of the other. */
  readonly acceptedAt?: string;
  readonly source?: string;
  readonly reason: string;
  readonly type?: string;
  readonly event?: string;
  readonly identity?: string;
  readonly detail?: string;
  readonly paths?: readonly string[];
  /** What to do about it. */
  readonly fix?: string;
  readonly message?: string;
}

export interface AuditResult {
  readonly id: string;
  readonly level: "MUST" | "SHOULD";
  readonly title: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly failure?: {
    readonly cause: string;
    readonly sent: string;
    readonly expected: string;
    readonly received: string;
    readonly fix: string;
  };
  readonly reason?: string;
}

export interface Certification {
  readonly id: string;
  readonly url: string;
  readonly startedAt: string;
  readonly state: "running" | "done" | "cancelled" | "failed";
  readonly total: number;
  /** Some audits alone. */
  readonly only?: readonly string[];
  readonly results: readonly AuditResult[];
  readonly error?: string;
}

export interface ResendJob {
  readonly id: string;
  readonly filter: { readonly destination?: string };
  readonly startedAt: string;
  readonly state: "running" | "done" | "cancelled" | "failed";
  readonly matched: number;
  readonly resent: number;
  readonly error?: string;
}

export interface Reachability {
  readonly destination: string;
  readonly url: string;
  readonly reachable: boolean;
  readonly code?: string;
  readonly message?: string;
  readonly durationMs: number;
}

/** One thing that happened, as the stream tells it. */
export type LiveEvent = { readonly id: string; readonly at: string } & (
  | { readonly event: "hello"; readonly run: string }
  | { readonly event: "reset"; readonly run: string; readonly reason: "restarted" | "missed" }
  | { readonly event: "accepted"; readonly delivery: DeliveryInfo }
  | { readonly event: "attempt"; readonly delivery: DeliveryInfo; readonly attempt: Attempt }
  | {
      readonly event: "delivered" | "failed" | "expired";
      readonly delivery: DeliveryInfo;
      readonly endedAt: string;
    }
  | { readonly event: "retrying"; readonly delivery: DeliveryInfo; readonly dueAt: string }
  | { readonly event: "skipped" | "rejected" | "warned" }
  | { readonly event: "settings"; readonly etag: string; readonly source?: string }
  | { readonly event: "fault"; readonly change: string; readonly fault: Fault }
  | { readonly event: "advancing" }
  | { readonly event: "clock"; readonly now: string; readonly advancedMs: number }
  | {
      readonly event: "failing" | "recovered" | "forgery";
      readonly destination: string;
      readonly endpoint: string;
    }
  | ({ readonly event: "store" } & StoreState)
  | { readonly event: "store_error"; readonly message: string }
  | { readonly event: "resend" | "audit" | "certified" }
  | { readonly event: "cleared"; readonly removed: number }
);
