import type { JsonObject } from "@countersign/protocol";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { WebhookError } from "./errors.ts";
import type { ReceivedMessage, TrackMessage } from "./messages.ts";

/** From event name to the schema of its properties: any library that implements Standard Schema. */
export type EventSchemas = Readonly<Record<string, StandardSchemaV1>>;

/** Track events whose properties are typed and checked, made by {@link defineEvents}. */
export interface EventDefinitions<Schemas extends EventSchemas = EventSchemas> {
  readonly schemas: Schemas;
}

/**
 * A track message of a defined event: its name as a literal type, its properties as the schema's output. A {@link TrackMessage} if no events
 * are defined.
 */
export type TrackEvent<
  Schemas extends EventSchemas,
  Name extends keyof Schemas,
> = string extends keyof Schemas
  ? TrackMessage
  : Omit<TrackMessage, "event" | "properties"> & {
      event: Name;
      properties: StandardSchemaV1.InferOutput<Schemas[Name]>;
    };

/**
 * What happens to an authentic track event whose properties do not match its schema. `"reject"`: it is rejected with 422,
 * which is final, so the sender does not retry it. `"report"`: it is accepted as received, and `webhook.issues` says what
 * does not match.
 */
export type InvalidEvents = "reject" | "report";

/** One way in which properties do not match a schema: a message, and the path of the property. */
export type EventIssue = StandardSchemaV1.Issue;

/** The same events with properties that may not match: what a router sees with `invalidEvents: "report"`. */
export type UnvalidatedEvents<Schemas extends EventSchemas> = {
  readonly [Name in keyof Schemas]: StandardSchemaV1<unknown, JsonObject | null | undefined>;
};

/**
 * Defines the track events an app knows, once for the code that records, receives and tests them.
 *
 * @param schemas - From event name to the schema of its properties: zod, valibot, arktype or any other Standard Schema.
 * @returns Definitions for the `events` option of a receiver, a router or a client.
 * @throws TypeError if it is not an object, or something in it is not a Standard Schema.
 * @example
 * ```ts
 * const events = defineEvents({
 *   "Order Completed": z.object({ orderId: z.string(), total: z.number() }),
 * });
 * ```
 */
export function defineEvents<const Schemas extends EventSchemas>(
  schemas: Schemas,
): EventDefinitions<Schemas> {
  if (typeof schemas !== "object" || schemas === null) {
    throw new TypeError("defineEvents() takes an object from event name to the schema of its properties.");
  }
  for (const [name, schema] of Object.entries(schemas)) {
    // A value from JavaScript, or of an older version of a library, may not be what its type says.
    const standard = (schema as Partial<StandardSchemaV1> | null | undefined)?.["~standard"];
    if (typeof standard?.validate !== "function") {
      throw new TypeError(
        `The schema of event "${name}" is not a Standard Schema. Use zod 3.24, valibot 1 or arktype 2, or later.`,
      );
    }
  }
  return { schemas };
}

/** @throws TypeError if `events` does not come from {@link defineEvents}. Most likely it is the schemas themselves. */
export function checkEvents(events: EventDefinitions | undefined, invalidEvents: unknown): void {
  if (events !== undefined && typeof (events as Partial<EventDefinitions> | null)?.schemas !== "object") {
    throw new TypeError("The option events must come from defineEvents().");
  }
  if (!INVALID_EVENTS.has(invalidEvents)) {
    throw new TypeError('The option invalidEvents must be "reject" or "report".');
  }
}

const INVALID_EVENTS: ReadonlySet<unknown> = new Set<InvalidEvents | undefined>([
  undefined,
  "reject",
  "report",
]);

/** A message after validation by the schema of its event. */
export interface ValidatedEvent<Message extends ReceivedMessage> {
  readonly message: Message;
  /** What does not match, if that is only reported. */
  readonly issues: readonly EventIssue[] | undefined;
}

// A receiver and a router may have the same events. A schema may transform, so its output must not be validated again.
const outputs = new WeakMap<
  object,
  { readonly events: EventDefinitions; readonly received: ReceivedMessage }
>();
const reports = new WeakMap<object, Report>();

interface Report {
  readonly events: EventDefinitions;
  readonly issues: readonly EventIssue[] | undefined;
}

/**
 * Validates a track event by its schema, if it has one. With `"reject"` the properties become the schema's output; with
 * `"report"` the message stays as received, and only the issues are returned. Any other message stays as it is.
 *
 * @throws WebhookError `ERR_INVALID_MESSAGE` naming the event and each property that does not match, with `"reject"`.
 */
export async function validateEvent<Message extends ReceivedMessage>(
  message: Message,
  events: EventDefinitions,
  mode: InvalidEvents = "reject",
): Promise<ValidatedEvent<Message>> {
  if (mode === "reject") return { message: await validOutput(message, events), issues: undefined };
  const known = outputs.get(message);
  // It comes from the same union: only its properties were replaced.
  const received = (known?.received ?? message) as Message;
  if (known?.events === events) return { message: received, issues: undefined };
  const report = reports.get(received);
  if (report?.events === events) return { message: received, issues: report.issues };
  const issues = (await validate(received, events))?.issues;
  reports.set(received, { events, issues });
  return { message: received, issues };
}

async function validOutput<Message extends ReceivedMessage>(
  message: Message,
  events: EventDefinitions,
): Promise<Message> {
  if (outputs.get(message)?.events === events) return message;
  const result = await validate(message, events);
  if (result === undefined) return message;
  if (result.issues) {
    const { event } = message as TrackMessage;
    throw new WebhookError("ERR_INVALID_MESSAGE", {
      message: `Event "${event}" does not match its schema: ${describeAll(result.issues)}.`,
      hint:
        "The message is authentic, but its properties are not what defineEvents() says. Fix the code that records it, " +
        'or accept it with invalidEvents: "report".',
      cause: result.issues,
    });
  }
  const output = { ...message, properties: result.value };
  outputs.set(output, { events, received: message });
  return output;
}

async function validate(
  message: ReceivedMessage,
  events: EventDefinitions,
): Promise<StandardSchemaV1.Result<unknown> | undefined> {
  if (message.type !== "track") return undefined;
  // A message of type "track" passed the rule of TrackMessage, whatever the union around it.
  const { event, properties } = message as TrackMessage;
  const schema = Object.hasOwn(events.schemas, event) ? events.schemas[event] : undefined;
  return schema?.["~standard"].validate(properties ?? {});
}

// The caller sees this text, and one bad value in a long array is as telling as all of them.
const MAX_ISSUES = 5;

function describeAll(issues: readonly StandardSchemaV1.Issue[]): string {
  const more = issues.length > MAX_ISSUES ? `; and ${issues.length - MAX_ISSUES} more` : "";
  return issues.slice(0, MAX_ISSUES).map(describe).join("; ") + more;
}

function describe(issue: StandardSchemaV1.Issue): string {
  const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
  return [["properties", ...path].join("."), issue.message].join(": ");
}
