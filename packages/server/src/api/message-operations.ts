import {
  isObject,
  recordCall,
  serializeCall,
  TEXT_FIELDS,
  ValidationError,
  type CallRule,
  type CallType,
} from "@countersign/protocol";
import type { JudgedCall } from "@countersign/sender";
import { MESSAGE_TYPES } from "@countersign/sender/store";
import { ref, type ApiContext, type Operation } from "./operation.ts";
import { pointerPart, Problem, problemAt, type ProblemIssue } from "./problem.ts";
import { receiptJson } from "./receipt-json.ts";

/** As long as an id that the sender makes, so that the size of the call is right. */
const ID_TO_COME = "00000000-0000-7000-8000-000000000000";

/** More mistakes than this are not looked for. */
const MAX_ERRORS = 20;

type Fields = Readonly<Record<string, unknown>>;

/** Messages of all seven types, as a form sends them. */
export const messageOperations: readonly Operation[] = [
  {
    method: "POST",
    path: "/messages",
    id: "sendMessage",
    summary:
      'Takes a call with its `type`, or `{"type":"delete","userId"}`, as the client library does, and answers with the receipt.',
    description:
      "Unlike `/v1`, an unknown field is an error, and a message that comes again is sent again, also with the same `messageId`. With `check`, it only says what is wrong.",
    query: {
      source: { type: "string", description: "Name of the source; may be left out when there is one." },
      check: { type: "boolean", description: "Stores nothing, and answers 200 with every mistake." },
    },
    body: { type: "object" },
    answer: { status: 201, schema: ref("Receipt") },
    answers: { 200: ref("MessageCheck") },
    errors: { 409: "The source has no enabled destination.", 422: "The message breaks a rule." },
    async handle(context, { query, body, reply }) {
      const fields = body as Fields;
      const errors = mistakesOf(fields, context.now);
      if (query["check"] === true) {
        reply.code(200);
        return { valid: errors.length === 0, errors };
      }
      if (errors.length > 0) {
        throw new Problem(422, errors.map(({ detail }) => detail).join(" "), errors);
      }
      const source = sourceName(context, query["source"]);
      return fields["type"] === "delete"
        ? deletion(context, source, fields)
        : call(context, source, fields["type"] as CallType, fields);
    },
  },
];

async function call(
  { sender, now }: ApiContext,
  source: string,
  type: CallType,
  fields: Fields,
): Promise<object> {
  const [receipt] = await sender.accept([recorded(type, fields, now)], { source });
  return receipt ? receiptJson(receipt) : {};
}

async function deletion({ sender }: ApiContext, source: string, fields: Fields): Promise<object> {
  const timestamp = fields["timestamp"] as string | undefined;
  const [receipt] = await sender.deleteUser(fields["userId"] as string, {
    sources: [source],
    ...(timestamp !== undefined && { timestamp }),
  });
  if (receipt) return receiptJson(receipt);
  throw new Problem(
    409,
    `The source ${JSON.stringify(source)} has no enabled destination, so nothing was sent.`,
  );
}

function sourceName({ sender }: ApiContext, given: unknown): string {
  const names = sender.settings.sources.map(({ name }) => name);
  const name = given ?? (names.length === 1 ? names[0] : undefined);
  if (typeof name === "string" && names.includes(name)) return name;
  const detail = `${given === undefined ? "There are several sources" : "There is no such source"}. Name one of them with ?source=: ${names.join(", ")}.`;
  throw problemAt({ parameter: "source" }, detail);
}

/** The call as it is recorded; the sender makes its id when it has none. */
function recorded(type: CallType, { type: _, ...fields }: Fields, now: () => number): JudgedCall {
  const call = recordCall(type, fields, { messageId: () => ID_TO_COME, now });
  serializeCall(call);
  const { messageId, ...rest } = call;
  return messageId === ID_TO_COME ? rest : call;
}

/**
 * Everything that is wrong with a message. The rules stop at the first mistake, so what is found is put right in a copy,
 * and the rules are asked again.
 */
function mistakesOf(message: Fields, now: () => number): readonly ProblemIssue[] {
  const type = MESSAGE_TYPES.find((known) => known === message["type"]);
  if (type === undefined) {
    const missing = message["type"] === undefined;
    const detail = `The \`type\` ${missing ? "is missing" : "is unknown"}. Use one of: ${MESSAGE_TYPES.join(", ")}.`;
    return [{ pointer: "/type", detail, rule: missing ? "missing_type" : "unknown_type" }];
  }
  const errors: ProblemIssue[] = [];
  const copy: Record<string, unknown> = { ...message };
  while (errors.length < MAX_ERRORS) {
    const error = type === "delete" ? deleteMistake(copy) : callMistake(type, copy, now);
    if (!error) return errors;
    const { rule, field, message: detail } = error;
    errors.push({ pointer: field === undefined ? "" : pointerTo(field, copy), detail, rule });
    if (field === undefined) return errors;
    putRight(copy, field, rule);
  }
  return errors;
}

function callMistake(type: CallType, fields: Fields, now: () => number): ValidationError | undefined {
  try {
    recorded(type, fields, now);
    return undefined;
  } catch (error) {
    if (error instanceof ValidationError) return error;
    throw error;
  }
}

/** A deletion follows the rules of an identify call, of which it has two fields. */
function deleteMistake({ userId, timestamp, type: _, ...others }: Fields): ValidationError | undefined {
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    const known = "userId and timestamp";
    return new ValidationError(
      "unknown_field",
      unknown,
      `A deletion has no field '${unknown}', only ${known}.`,
    );
  }
  if (userId === undefined || userId === null || userId === "") {
    return new ValidationError("missing_user_id", "userId", "You must pass a 'userId'.");
  }
  return callMistake("identify", { userId, timestamp }, Date.now);
}

/** A path such as `integrations.Mail.io` as a pointer. A name of the first level may contain dots, too. */
function pointerTo(field: string, message: Fields): string {
  if (Object.hasOwn(message, field)) return `/${pointerPart(field)}`;
  let value: unknown = message;
  let pointer = "";
  let rest = field;
  while (rest !== "") {
    const name = nextName(rest, value);
    pointer += `/${pointerPart(name)}`;
    value = isObject(value) || Array.isArray(value) ? (value as Fields)[name] : undefined;
    rest = rest.slice(name.length + 1);
  }
  return pointer;
}

function nextName(path: string, value: unknown): string {
  const names = isObject(value) ? Object.keys(value) : [];
  return names.find((name) => path === name || path.startsWith(`${name}.`)) ?? path.split(".", 1)[0] ?? path;
}

/** A field that the type does not have goes, even if it is a text field of another type. */
function putRight(message: Record<string, unknown>, field: string, rule: CallRule): void {
  const name = Object.hasOwn(message, field) ? field : (field.split(".", 1)[0] ?? field);
  if (rule !== "unknown_field" && TEXT_FIELDS.some((text) => text === name)) message[name] = "x";
  else delete message[name];
}
