import type { VirtualClock } from "@countersign/protocol";
import type { Sender } from "@countersign/sender";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Certifications } from "../jobs/certifications.ts";
import type { ClockAdvances } from "../live/clock-advances.ts";
import type { EventStreams } from "../live/event-stream.ts";
import type { FaultList } from "../live/fault-list.ts";
import type { ForgeryList } from "../live/forgery-list.ts";
import type { LiveEvents } from "../live/live-events.ts";
import type { ResendJobs } from "../jobs/resend-jobs.ts";
import type { StoreRoom } from "../live/store-room.ts";
import type { WarningList } from "../live/warning-list.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { DescribedOperation } from "../open-api/document.ts";
import type { Schema, Schemas } from "../open-api/schema.ts";
import type { SettingsBook } from "../settings/settings-book.ts";
import type { SettingsVersions } from "../settings/settings-versions.ts";

/** What the operations of the control API work on. */
export interface ApiContext {
  readonly sender: Sender;
  readonly ledger: Ledger;
  readonly book: SettingsBook;
  readonly versions: SettingsVersions;
  readonly faults: FaultList;
  readonly forgeries: ForgeryList;
  readonly warnings: WarningList;
  readonly events: LiveEvents;
  readonly streams: EventStreams;
  /** Present when time is virtual. */
  readonly virtualClock: VirtualClock | undefined;
  readonly advances: ClockAdvances | undefined;
  readonly room: StoreRoom;
  readonly certifications: Certifications;
  readonly resends: ResendJobs;
  readonly info: ServerInfo;
  readonly now: () => number;
}

/** What does not change while a server runs. */
export interface ServerInfo {
  readonly version: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Whether it delivers the calls that it accepts. */
  readonly delivers: boolean;
  /** Where deliveries are kept. */
  readonly kept: "disk" | "memory" | "shared";
  /** How long an endpoint may take to respond, in milliseconds. */
  readonly budgetMs: number;
  /** How long after its acceptance a delivery is tried, in milliseconds: the policy in force, which processes on one store share. */
  readonly retryWindowMs: number;
  readonly recording: boolean;
  /** Why it opens no connections but for deliveries, as a sentence; undefined if it does, for audits and to see what listens. */
  readonly onlyDeliveriesConnect: string | undefined;
}

export { ref, type Schema, type Schemas } from "../open-api/schema.ts";

/** What a handler is given: validated, so its casts state what the schema has checked. */
export interface OperationInput {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** One operation of the control API: the route and its description are made from it, so they cannot disagree. */
export interface Operation extends Omit<DescribedOperation, "tag"> {
  /** Properties of the query string, all optional. */
  readonly query?: Schemas;
  readonly body?: Schema;
  /** Request headers that it reads, all optional. */
  readonly headers?: readonly string[];
  /** The body may be left out. */
  readonly bodyIsOptional?: true;
  /** What the route checks in place of `body`, where the rest is checked by what takes it. */
  readonly checkedBody?: Schema;
  /** Most bytes of the body. Default: 256 KiB. */
  readonly maxBodyBytes?: number;
  /** The answer of a success: a status, and the schema of its JSON. Without a schema it has no body. */
  readonly answer: {
    readonly status: 200 | 201 | 202 | 204;
    readonly schema?: Schema;
    readonly type?: string;
    /** Headers that it always has, besides those of HTTP. */
    readonly headers?: readonly string[];
  };
  /** Other answers of a success, by status. */
  readonly answers?: Readonly<Record<number, Schema>>;
  /** Statuses of the errors that are its own, each with its meaning. */
  readonly errors?: Readonly<Record<number, string>>;
  handle(context: ApiContext, input: OperationInput): unknown;
}
