import type { JsonObject } from "@countersign/protocol";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { TrackMessage } from "./messages.ts";

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
