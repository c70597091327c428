import { hash } from "node:crypto";
import {
  CALL_TYPES,
  isMessageId,
  nameHint,
  parseDuration,
  timeOrderedIds,
  EVENT_SYNONYMS,
  PROPERTIES_SYNONYMS,
  USER_ID_SYNONYMS,
  type Calls,
  type CallType,
  type Clock,
  type OptionNames,
  type RecordedCall,
} from "@countersign/protocol";
import {
  buildDeleteMessage,
  buildMessage,
  type BuiltMessage,
  includedFields,
  record,
} from "../calls/message.ts";
import { CallError } from "../calls/call-error.ts";
import type { Source } from "../settings/parse-settings.ts";
import type { Acceptance, NewCall, NewDelivery, NewMessage } from "../store/delivery-store.ts";
import { checkCallOptions, checkDeleteOptions } from "./check-options.ts";
import type { RandomSource } from "./random-source.ts";
import type { SkipReason } from "../delivery/skipped-call.ts";
import type { AcceptOptions, CallOptions, DeleteOptions, JudgedCall } from "./sender.ts";
import { isWellFormed } from "./well-formed.ts";

/** The messages and deliveries of calls, gathered for one transaction of the store. */
export interface Intake {
  readonly calls: NewCall[];
  readonly messages: NewMessage[];
  readonly deliveries: NewDelivery[];
}

/** What to store of a call besides its message. */
interface CallDetails {
  /** Whether it adds to its source's usage. */
  readonly counted: boolean;
  readonly reason?: SkipReason | undefined;
  readonly key?: string | undefined;
}

/** A call with its id, its origin and its key. */
type OriginatedCall = RecordedCall & Pick<JudgedCall, "origin" | "key">;

/** The longest key by which repeats of a call are known. */
const MAX_KEY_CHARACTERS = 1_024;

/** A longer one is stored as its hash: the index of a database may have no room for it. */
const MAX_STORED_KEY_CHARACTERS = 255;

/** The name of this destination in a call's `integrations` (spec 1). Case matters. */
const OWN_NAME = "Webhooks";

/** How many sources an error names: there may be thousands. */
const NAMED_SOURCES = 20;

/** Turns calls into messages and deliveries: which source, which destinations, which ids. Stores nothing. */
export class CallIntake {
  readonly #clock: Clock;
  readonly #idAt: (now: number) => string;
  #sources: readonly Source[] = [];
  #byName: ReadonlyMap<string, Source> = new Map();
  #byWriteKey: ReadonlyMap<string, Source> = new Map();

  constructor(clock: Clock, ids: RandomSource) {
    this.#clock = clock;
    this.#idAt = timeOrderedIds(ids.uint32);
  }

  get sources(): readonly Source[] {
    return this.#sources;
  }

  set sources(sources: readonly Source[]) {
    this.#sources = sources;
    this.#byName = new Map(sources.map((source) => [source.name, source]));
    this.#byWriteKey = new Map(sources.map((source) => [source.writeKey, source]));
  }

  /** @throws CallError when the call is not valid */
  take<T extends CallType>(type: T, call: Calls[T], options: CallOptions | undefined): Intake {
    if (options !== undefined) checkCallOptions(type, options);
    const source = this.sourceOf(options);
    const intake: Intake = { calls: [], messages: [], deliveries: [] };
    this.#addRecorded(intake, source, record(type, call, { messageId: this.newId, now: this.now }));
    // Copies have the exact size: V8 gives a list that grows room for 17 items, and these are kept until the call is stored.
    return {
      calls: [...intake.calls],
      messages: [...intake.messages],
      deliveries: [...intake.deliveries],
    };
  }

  /** @throws CallError when something in the list is not a recorded call; then no call of the list is accepted */
  takeJudged(calls: readonly JudgedCall[], options: AcceptOptions = {}): Acceptance {
    checkCallOptions("accept", options);
    const { uniqueFor } = options;
    const uniqueForMs =
      uniqueFor === undefined ? undefined : parseDuration(uniqueFor, "accept({ uniqueFor })");
    const source = this.sourceOf(options);
    if (!Array.isArray(calls)) throw new TypeError("accept() takes a list of recorded calls.");
    calls.forEach(assertJudged);
    const withIds = calls.map((call) => (hasId(call) ? call : { ...call, messageId: this.newId() }));
    const intake: Intake = { calls: [], messages: [], deliveries: [] };
    for (const call of withIds) this.#addRecorded(intake, source, call);
    const { calls: accepted, messages, deliveries } = intake;
    return { calls: accepted, messages, deliveries, uniqueForMs };
  }

  /** @throws CallError when the user, the time or a source is not valid */
  takeDelete(userId: string, options: DeleteOptions = {}): Intake {
    checkDeleteOptions(options);
    const named = options.sources?.map((source, index) => this.sourceOf({ source }, `sources.${index}`));
    const unnamed = buildDeleteMessage(userId, options.timestamp, this.now());
    const intake: Intake = { calls: [], messages: [], deliveries: [] };
    for (const source of new Set(named ?? this.#sources)) {
      if (source.enabled.length === 0) continue;
      const message = { ...unnamed, messageId: this.newId() };
      this.addCall(intake, source, message, { counted: false });
      this.addMessage(intake, source, message, source.enabled);
    }
    return intake;
  }

  /** Adds a message of the call that was added last, and a delivery of it for each of these destinations. */
  addMessage(intake: Intake, source: Source, message: BuiltMessage, destinations: readonly string[]): void {
    const position = intake.messages.length;
    const call = intake.calls.length - 1;
    const acceptedAt = intake.calls[call]?.acceptedAt ?? this.now();
    const { messageId, type, identity, event, body } = message;
    intake.messages.push({ messageId, type, source: source.name, identity, event, acceptedAt, body, call });
    for (const destination of destinations) {
      intake.deliveries.push({ id: this.newId(), destination, message: position });
    }
  }

  /** Adds a call; its messages follow. */
  addCall(
    intake: Pick<Intake, "calls">,
    source: Source,
    { messageId, type, identity, event }: BuiltMessage,
    { counted, reason, key }: CallDetails,
  ): void {
    const skipped = reason === undefined ? undefined : { id: this.newId(), reason };
    const acceptedAt = this.now();
    const { name } = source;
    intake.calls.push({ source: name, messageId, type, identity, event, acceptedAt, key, counted, skipped });
  }

  /** Keys of the destinations that are enabled now. */
  get enabled(): readonly string[] {
    return this.#sources.flatMap(({ enabled }) => enabled);
  }

  /** A fresh id. */
  readonly newId = (): string => this.#idAt(this.now());

  /** The time, in whole milliseconds. */
  readonly now = (): number => Math.floor(this.#clock.now());

  /**
   * @param place Where the source is named, if in a list, such as `sources.0`.
   * @throws CallError when the options name no source, or none where there are several
   */
  sourceOf({ source: name, writeKey }: CallOptions = {}, place?: string): Source {
    const [only] = this.#sources;
    const isNamed = name !== undefined || writeKey !== undefined;
    if (!isNamed && only !== undefined && this.#sources.length === 1) return only;
    const source = name === undefined ? this.#byWriteKey.get(writeKey ?? "") : this.#byName.get(name);
    if (isNamed && source !== undefined && (writeKey === undefined || source.writeKey === writeKey))
      return source;
    const isNone = isNamed || only === undefined;
    const problem = isNone ? "No source has this name and write key." : "There are several sources.";
    const option = place === undefined ? "source" : "sources";
    throw new CallError(
      "ERR_UNKNOWN_SOURCE",
      `${problem} Name one of them in \`${option}\`: ${namesOf(this.#sources)}.`,
      {
        field: place ?? (writeKey === undefined ? "source" : "writeKey"),
      },
    );
  }

  /** Adds a call, and a message for each group of destinations that get the same bytes. */
  #addRecorded(intake: Intake, source: Source, call: OriginatedCall): void {
    const reason = skipReasonOf(source, call);
    const counted = reason !== "blocked_event" || source.countFiltered;
    const details = { counted, reason, key: call.key && storedKey(call.key) };
    if (reason !== undefined) {
      // Its message is built all the same, since that checks the call.
      this.addCall(intake, source, buildMessage(call), details);
      return;
    }
    for (const [position, { includeFields, destinations }] of source.recipients.entries()) {
      const included =
        includeFields.length === 0 ? undefined : includedFields(includeFields, call, this.now());
      const message = buildMessage(call, included);
      if (position === 0) this.addCall(intake, source, message, details);
      this.addMessage(intake, source, message, destinations);
    }
  }
}

/** Why a call goes to none of its source's destinations, if it does not. */
function skipReasonOf(
  { blockedEvents, enabled }: Source,
  { event, integrations }: RecordedCall,
): SkipReason | undefined {
  if (event !== undefined && blockedEvents.has(event)) return "blocked_event";
  if (integrations !== undefined && !isSelected(integrations)) return "integrations";
  return enabled.length === 0 ? "no_destination" : undefined;
}

/**
 * Whether a call's `integrations` let it through (spec 6): on unless it says otherwise; `All: false` turns every
 * destination off except those turned on by name.
 */
function isSelected(integrations: object): boolean {
  const own = (name: string): unknown =>
    // No name can be inherited.
    Object.hasOwn(integrations, name) ? integrations[name as keyof typeof integrations] : undefined;
  const setting = own(OWN_NAME);
  if (setting === false) return false;
  // Besides true, clients send an object with a destination's options.
  if (setting === true || (typeof setting === "object" && setting !== null)) return true;
  return own("All") !== false;
}

/** A key in a form that every store can keep. */
function storedKey(key: string): string {
  if (key.length <= MAX_STORED_KEY_CHARACTERS && isWellFormed(key)) return key;
  return `sha256.${hash("sha256", Buffer.from(key, "utf16le"), "base64url")}`;
}

/** The fields of a judged call. Its content was judged before; `assertJudged` refuses what is no judged call at all. */
const JUDGED_NAMES: OptionNames<JudgedCall> = {
  type: true,
  messageId: true,
  timestamp: true,
  userId: USER_ID_SYNONYMS,
  anonymousId: true,
  event: EVENT_SYNONYMS,
  groupId: true,
  previousId: true,
  name: true,
  category: true,
  properties: PROPERTIES_SYNONYMS,
  traits: true,
  context: true,
  integrations: true,
  origin: true,
  key: true,
};

function hasId(call: JudgedCall): call is OriginatedCall {
  return call.messageId !== undefined;
}

function assertJudged(call: unknown, position: number): void {
  const fields: Partial<JudgedCall> = typeof call === "object" && call !== null ? call : {};
  const { type, messageId, timestamp, key } = fields;
  const isType = CALL_TYPES.some((known) => known === type);
  const isId = messageId === undefined || (typeof messageId === "string" && isMessageId(messageId));
  const isKey =
    key === undefined || (typeof key === "string" && key !== "" && key.length <= MAX_KEY_CHARACTERS);
  if (isType && isId && isKey && typeof timestamp === "string") {
    for (const name in fields) {
      if (Object.hasOwn(JUDGED_NAMES, name)) continue;
      // No message would contain it.
      throw new CallError(
        "ERR_FIELD_UNKNOWN",
        `accept(): item ${position} has no field '${name}'${nameHint(name, JUDGED_NAMES)}`,
        { field: name },
      );
    }
    return;
  }
  throw new CallError(
    "ERR_FIELD_INVALID",
    `accept(): item ${position} is not a recorded call. It needs a type and a timestamp, a messageId of 1 to 99 characters if it has one, and a key of 1 to ${MAX_KEY_CHARACTERS} if it has one.`,
  );
}

function namesOf(sources: readonly Source[]): string {
  const names = sources.slice(0, NAMED_SOURCES).map(({ name }) => JSON.stringify(name));
  const more = sources.length - names.length;
  return names.join(", ") + (more > 0 ? `, and ${more} more` : "");
}
