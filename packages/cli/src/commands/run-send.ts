import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import type { MessageType } from "@countersign/sender";
import { adviceFor, answerText, ATTEMPT_TIMEOUT_MS } from "@countersign/sender/explain";
import { inParallel } from "../input/in-parallel.ts";
import { readCalls, typeOf, type FileCall } from "../input/read-calls.ts";
import { callOfMessage } from "../send/call-of-message.ts";
import { MESSAGE_TYPES } from "../send/message-types.ts";
import { sampleCall, type SampleCall } from "../send/sample-call.ts";
import { setField } from "../send/set-field.ts";
import type { SentMessage } from "../send/send-message.ts";
import { proxyOf, type ProxyFlags } from "./proxy-options.ts";
import { reachOf, type ReceiverFlags } from "./receiver-options.ts";
import { saidOf } from "../terminal/said-of.ts";
import { tookOf } from "../terminal/took-of.ts";
import { jsonLine, printable, type Terminal } from "../terminal/terminal.ts";
import { UsageError } from "../errors/usage-error.ts";

/** The options of `countersign send`, as commander reads them. */
export interface SendFlags extends ReceiverFlags, ProxyFlags {
  readonly to: string;
  readonly secret?: string;
  readonly file?: string;
  readonly set?: readonly string[];
  readonly json?: boolean;
}

/** A call to send, and where it comes from. */
interface Item {
  readonly type: MessageType;
  readonly call: SampleCall;
  /** Its place in the file; absent for a sample message. */
  readonly where?: string;
}

/** Sends one sample message, or those of a file. Resolves to the exit code. */
export async function send(
  type: MessageType | undefined,
  flags: SendFlags,
  terminal: Terminal,
): Promise<number> {
  const { to, secret, concurrency = 1 } = flags;
  const reach = { ...(await reachOf(flags, terminal.cwd)), ...(await proxyOf(flags)) };
  // The first one is made before anything else, so that a wrong --set sends nothing.
  const items = itemsOf(type, flags, terminal);
  const first = await items.next();
  if (first.done)
    throw new UsageError(`${nameOf(flags.file)} has no messages. Write one JSON object on each line.`);
  const { openSends } = await import("../send/send-message.ts");
  const sends = await openSends({ to, secret, ...reach });
  const tally = { sent: 0, delivered: 0, advice: new Set<string>() };
  try {
    await inParallel(startingWith(first.value, items), concurrency, async (item) => {
      const sent = await sends.send(item.type, item.call).catch((error: unknown) => {
        throw withPlace(error, item.where, flags.file);
      });
      tally.sent += 1;
      if (sent.ok) tally.delivered += 1;
      else tally.advice.add(adviceOf(sent, flags));
      report(item, sent, flags, terminal);
    });
  } finally {
    await sends.close();
    if (!flags.json) summarise(tally, terminal);
  }
  return tally.delivered === tally.sent ? 0 : 1;
}

function summarise(
  { sent, delivered, advice: lines }: { sent: number; delivered: number; advice: ReadonlySet<string> },
  { print, complain }: Terminal,
): void {
  if (sent > 1) print(`${sent} sent, ${delivered} delivered, ${sent - delivered} not.`);
  for (const line of lines) complain(line);
}

async function* startingWith<T>(first: T, others: AsyncGenerator<T>): AsyncGenerator<T> {
  yield first;
  yield* others;
}

async function* itemsOf(
  type: MessageType | undefined,
  { file, set = [] }: SendFlags,
  terminal: Terminal,
): AsyncGenerator<Item> {
  if (file === undefined) {
    if (type !== undefined) yield { type, call: withFields(type, sampleCall(type), set) };
    return;
  }
  const name = nameOf(file);
  const chunks = file === "-" ? terminal.stdin : createReadStream(resolve(terminal.cwd, file));
  for await (const found of readCalls(chunks as AsyncIterable<Buffer>, name)) {
    const own = typeOfItem(found, type, name);
    yield itemOf(found, own, { file, set });
  }
}

function itemOf(
  { fields, where }: FileCall,
  type: MessageType,
  { file, set }: Required<Pick<SendFlags, "file" | "set">>,
): Item {
  try {
    return { type, call: withFields(type, callOfMessage(type, fields), set), where };
  } catch (error) {
    throw withPlace(error, where, file);
  }
}

/** What a file is called in an error. */
function nameOf(file = "-"): string {
  return file === "-" ? "Standard input" : file;
}

function typeOfItem(found: FileCall, type: MessageType | undefined, name: string): MessageType {
  return found.fields["type"] === undefined && type !== undefined ? type : typeOf(found, MESSAGE_TYPES, name);
}

function withFields(type: MessageType, call: SampleCall, set: readonly string[]): SampleCall {
  for (const assignment of set) setField(type, call, assignment);
  return call;
}

/** What is wrong with one call, of which a file has many. */
const ERRORS_OF_CALLS: ReadonlySet<string> = new Set(["CallError", "SetError"]);

/** A call that is not valid is a mistake of its author: says where it is, or how to correct the sample. */
function withPlace(error: unknown, where: string | undefined, file: string | undefined): unknown {
  if (!(error instanceof Error) || !ERRORS_OF_CALLS.has(error.name)) return error;
  if (where !== undefined) return new UsageError(`${nameOf(file)}: ${where}: ${error.message}`);
  if (error.name === "SetError") return error;
  const { field } = error as Error & { readonly field?: string };
  const path = field === undefined ? "userId=u1" : `${field}=VALUE`;
  return new UsageError(`${error.message} Correct it with --set, for example --set ${path}`);
}

function report(
  { type, where }: Item,
  { attempt, delivery, ok }: SentMessage,
  { json, to }: SendFlags,
  { print, colors }: Terminal,
): void {
  if (json) {
    const startedAt = new Date(attempt.startedAt).toISOString();
    print(jsonLine({ ok, ...attempt, startedAt, messageId: delivery.messageId, body: text(delivery.body) }));
    return;
  }
  const mark = ok ? colors.green("delivered") : colors.red("not delivered");
  const place = where === undefined ? "" : `${where}: `;
  const took = tookOf(attempt, ATTEMPT_TIMEOUT_MS);
  const after = took.isSlow ? colors.yellow(took.text) : took.text;
  print(`${place}${mark}: ${type} to ${to}: ${answerText(attempt)}${after}`);
  const said = ok ? undefined : saidOf(attempt);
  if (said !== undefined) print(JSON.stringify(said));
}

/** What to do about it. Nothing is retried here, so the fate of the delivery is left out. */
function adviceOf({ attempt }: SentMessage, { secret }: SendFlags): string {
  return printable(
    adviceFor(attempt, { signed: secret !== undefined })?.text ?? "The message was not delivered.",
  );
}

function text(body: Uint8Array): string {
  return Buffer.from(body).toString("utf8");
}
