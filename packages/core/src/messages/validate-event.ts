import type { StandardSchemaV1 } from "@standard-schema/spec";
import { WebhookError } from "../errors.ts";
import type { EventDefinitions, EventIssue, InvalidEvents } from "./events.ts";
import type { ReceivedMessage, TrackMessage } from "./messages.ts";

/** A message after validation by the schema of its event. */
export interface ValidatedEvent<Message extends ReceivedMessage> {
  readonly message: Message;
  /** What does not match, if that is only reported. */
  readonly issues: readonly EventIssue[] | undefined;
}

/** What was validated. A schema may transform, so its output must not be validated again. */
interface Validated {
  readonly outputs: WeakMap<
    object,
    { readonly events: EventDefinitions; readonly received: ReceivedMessage }
  >;
  readonly reports: WeakMap<object, Report>;
}

// A receiver and a router may have the same events. One for the process, since each may be of another copy of this package:
// an app has two where its adapter needs another version than the app.
const KEY = Symbol.for("@countersign/core/validated");
const host = globalThis as { [KEY]?: Validated };
const { outputs, reports } = (host[KEY] ??= { outputs: new WeakMap(), reports: new WeakMap() });

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
        "The message is authentic, but its properties do not match the schema of defineEvents(). Fix the code that records it, " +
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
const MAX_ISSUE_LENGTH = 200;

// Names of properties are in this text, which apps log: a line break in one would begin another line of the log.
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

function describeAll(issues: readonly StandardSchemaV1.Issue[]): string {
  const more = issues.length > MAX_ISSUES ? `; and ${issues.length - MAX_ISSUES} more` : "";
  return issues.slice(0, MAX_ISSUES).map(describe).join("; ") + more;
}

function describe(issue: StandardSchemaV1.Issue): string {
  const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
  const text = [["properties", ...path].join("."), issue.message].join(": ");
  const shown = text.length > MAX_ISSUE_LENGTH ? `${text.slice(0, MAX_ISSUE_LENGTH)}…` : text;
  return shown.replaceAll(UNPRINTABLE, "\uFFFD");
}
