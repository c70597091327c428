import type { StandardSchemaV1 } from "@standard-schema/spec";
import { WebhookError } from "./errors.ts";
import type { TrackMessage, UnknownMessage, WebhookMessage } from "./messages.ts";

/** From event name to the schema of its properties: any library that implements Standard Schema. */
export type EventSchemas = Readonly<Record<string, StandardSchemaV1>>;

/** Track events whose properties are typed and checked, as {@link defineEvents} gives them. */
export interface EventDefinitions<Schemas extends EventSchemas = EventSchemas> {
  readonly schemas: Schemas;
}

/**
 * A track message of a defined event: its name as a literal type, its properties as the schema's output. Where no events
 * are defined, a {@link TrackMessage}.
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
 * Defines the track events an app knows, once for whoever records, receives and tests them.
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

/** @throws TypeError if `events` is not what {@link defineEvents} gave: the schemas themselves, most likely. */
export function checkEvents(events: EventDefinitions | undefined): void {
  if (events !== undefined && typeof (events as Partial<EventDefinitions> | null)?.schemas !== "object") {
    throw new TypeError("The option events must come from defineEvents().");
  }
}

// A schema may transform, so its output must not be validated again when receiver and router have the same events.
const validated = new WeakMap<object, EventDefinitions>();

/**
 * A message with its properties validated, and replaced by the schema's output, where it is a track of a defined event;
 * any other message as it is.
 *
 * @throws WebhookError `ERR_INVALID_MESSAGE` naming the event and each property that does not fit.
 */
export async function validateEvent<Message extends WebhookMessage | UnknownMessage>(
  message: Message,
  events: EventDefinitions,
): Promise<Message> {
  if (message.type !== "track" || validated.get(message) === events) return message;
  // A message of type "track" passed the rule of TrackMessage, whatever the union around it.
  const { event, properties } = message as TrackMessage;
  const schema = Object.hasOwn(events.schemas, event) ? events.schemas[event] : undefined;
  if (schema === undefined) return message;

  const result = await schema["~standard"].validate(properties ?? {});
  if (result.issues) {
    throw new WebhookError("ERR_INVALID_MESSAGE", {
      message: `Event "${event}" does not fit its schema: ${describeAll(result.issues)}.`,
      hint: "The message is authentic, but its properties are not what defineEvents() says. Fix whoever records it.",
      cause: result.issues,
    });
  }
  const output = { ...message, properties: result.value };
  validated.set(output, events);
  return output;
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
