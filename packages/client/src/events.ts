import {
  nameHint,
  ValidationError,
  type CommonFields,
  type Identity,
  type TrackCall,
} from "@countersign/protocol";
import { callForeign } from "./foreign.ts";

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

interface Result {
  readonly issues?: readonly Issue[] | undefined;
}

/** A schema of any library that implements Standard Schema 1: zod, valibot, arktype and others. */
export interface StandardSchema<Input = unknown, Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Result | Promise<Result>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** From event name to the schema of its properties. */
export type EventSchemas = Readonly<Record<string, StandardSchema>>;

/** What `defineEvents()` of `@countersign/core` returns; an object of the same shape works too. */
export interface EventDefinitions<Schemas extends EventSchemas = EventSchemas> {
  readonly schemas: Schemas;
}

type InputOf<Schema extends StandardSchema> = NonNullable<Schema["~standard"]["types"]>["input"];

/** Absent properties are checked as an empty object: they may be left out if the schema takes one. */
type PropertiesOf<Input> =
  Record<string, never> extends Input
    ? { readonly properties?: Input | null }
    : { readonly properties: Input };

/** A track call of a defined event: its name, and the properties its schema takes. */
export type DefinedTrackCall<Schemas extends EventSchemas> = {
  [Name in keyof Schemas & string]: Identity &
    CommonFields & { readonly event: Name } & PropertiesOf<InputOf<Schemas[Name]>>;
}[keyof Schemas & string];

/** What `track()` takes: any event, or only the defined ones where `events` was given. */
export type TrackCallOf<Schemas extends EventSchemas> = string extends keyof Schemas
  ? TrackCall
  : DefinedTrackCall<Schemas>;

/**
 * Checks a track call against the schema of its event. What is sent is what the caller passed, not the schema's output:
 * it is the receiver's schema that reads it.
 *
 * @throws ValidationError if the event is not defined or its properties do not fit.
 * @throws TypeError if the schema can only be validated asynchronously.
 */
export function checkEvent(schemas: EventSchemas, { event, properties }: TrackCall): void {
  const schema = Object.hasOwn(schemas, event) ? schemas[event] : undefined;
  if (schema === undefined) {
    throw new ValidationError(
      "invalid_field",
      "event",
      `Event '${event}' is not defined${nameHint(event, schemas)}`,
    );
  }
  const result = schema["~standard"].validate(properties ?? {});
  if ("then" in result) {
    // The verdict comes too late for the call, and no caller is left to handle it.
    callForeign(() => result);
    throw new TypeError(`The schema of event '${event}' is asynchronous. Make it synchronous.`);
  }
  const issue = result.issues?.[0];
  if (issue === undefined) return;
  const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
  const field = ["properties", ...path].join(".");
  const message = `Event '${event}' does not match its schema: '${field}': ${issue.message}.`;
  throw new ValidationError("invalid_field", field, message, result.issues);
}
