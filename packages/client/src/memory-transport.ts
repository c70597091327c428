import type { Message } from "./message.ts";
import type { Transport, TransportRequest, TransportResponse } from "./wire/transport.ts";

/** A message as the service got it. */
export type SentMessage = Readonly<Message>;

/** A request as the service got it. */
export interface SentBatch {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes of the body as JSON, before compression. */
  readonly bytes: number;
  readonly messageId: string;
  readonly sentAt: string;
  readonly context: Readonly<Record<string, unknown>>;
  readonly batch: readonly SentMessage[];
}

/** How the service must answer: a response (200 if it does not say), an error (no answer), or never. */
export type Reply =
  | {
      readonly status?: number | undefined;
      readonly headers?: Readonly<Record<string, string>> | undefined;
      readonly body?: string | undefined;
      /** Keep the messages although the answer is not a success: an answer that was lost on its way. */
      readonly stored?: boolean | undefined;
    }
  | Error
  | "hang";

/** The part of a message that an assertion looks at: fields left out do not matter, at any depth. */
export type MessagePattern = { readonly [Field in keyof SentMessage]?: unknown };

/** A service in memory. */
export interface MemoryTransport extends Transport {
  /** Every request, in order, whatever was answered. */
  readonly requests: readonly SentBatch[];
  /** The messages that the service has: each once by its `messageId`, however often it came. */
  readonly messages: readonly SentMessage[];
  /** Scripts the answers of the next requests, one each. After them everything is 200. */
  reply(...replies: readonly (Reply | ((batch: SentBatch) => Reply))[]): void;
  /** Answers every request from now on, except those scripted with {@link MemoryTransport.reply}. */
  replyAlways(reply: Reply | ((batch: SentBatch) => Reply)): void;
  /**
   * @returns The first message that matches.
   * @throws Error listing what there is, if none matches.
   */
  assertSent(pattern: MessagePattern): SentMessage;
  /** @throws Error showing the message, if one matches. */
  assertNotSent(pattern: MessagePattern): void;
  /** @throws Error listing what there is, if it is not so many messages. */
  assertCount(count: number): void;
}

/**
 * A service in memory, for the tests of an application that records events.
 *
 * @example
 * ```ts
 * const service = memoryTransport();
 * const analytics = new Analytics("WRITE_KEY", { transport: service });
 * analytics.track({ userId: "u1", event: "Signed Up", properties: { plan: "team", seats: 3 } });
 * await analytics.flush();
 * service.assertSent({ type: "track", event: "Signed Up", properties: { plan: "team" } });
 * ```
 */
export function memoryTransport(): MemoryTransport {
  const requests: SentBatch[] = [];
  const stored = new Map<string, SentMessage>();
  const script: (Reply | ((batch: SentBatch) => Reply))[] = [];
  let always: Reply | ((batch: SentBatch) => Reply) = {};
  return {
    requests,
    get messages() {
      return [...stored.values()];
    },
    reply: (...replies) => void script.push(...replies),
    replyAlways: (reply) => void (always = reply),
    async send(request) {
      const batch = await read(request);
      requests.push(batch);
      const next = script.shift() ?? always;
      const reply = typeof next === "function" ? next(batch) : next;
      if (reply === "hang") return hang(request.signal);
      if (reply instanceof Error) throw reply;
      const response = respond(reply);
      if (reply.stored ?? response.status < 300) {
        for (const message of batch.batch) stored.set(message.messageId, message);
      }
      return response;
    },
    ...createAssertions(stored),
  };
}

type Assertions = Pick<MemoryTransport, "assertSent" | "assertNotSent" | "assertCount">;

function createAssertions(stored: ReadonlyMap<string, SentMessage>): Assertions {
  const find = (pattern: MessagePattern): SentMessage | undefined => {
    return [...stored.values()].find((message) => fits(message, pattern));
  };
  const listing = (): string => {
    const lines = [...stored.values()].map((message) => `\n  ${JSON.stringify(message)}`);
    return lines.length > 0
      ? `The service has:${lines.join("")}`
      : "The service has none. Did you await flush()?";
  };
  return {
    assertSent(pattern) {
      const message = find(pattern);
      if (message) return message;
      throw new Error(`No message matches ${JSON.stringify(pattern)}. ${listing()}`);
    },
    assertNotSent(pattern) {
      const message = find(pattern);
      if (message)
        throw new Error(`A message matches ${JSON.stringify(pattern)}: ${JSON.stringify(message)}`);
    },
    assertCount(count) {
      if (stored.size !== count)
        throw new Error(`Expected ${count} messages, but there are ${stored.size}. ${listing()}`);
    },
  };
}

async function read({ url, headers, body }: TransportRequest): Promise<SentBatch> {
  const plain = headers["Content-Encoding"] === "gzip" ? await inflate(body) : body;
  // Written by the client, whose envelope this is.
  const envelope = JSON.parse(new TextDecoder().decode(plain)) as Pick<
    SentBatch,
    "messageId" | "sentAt" | "context" | "batch"
  >;
  return { url, headers, bytes: plain.length, ...envelope };
}

async function inflate(body: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([body]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });
}

function respond({ status = 200, headers = {}, body }: Exclude<Reply, Error | "hang">): TransportResponse {
  const success = status < 300 ? '{"success":true}' : `{"success":false,"code":"http_${status}"}`;
  return { status, headers: new Headers(headers), body: body ?? success };
}

function fits(value: unknown, pattern: unknown): boolean {
  if (typeof pattern !== "object" || pattern === null) return Object.is(value, pattern);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(pattern) && (!Array.isArray(value) || value.length !== pattern.length)) return false;
  return Object.entries(pattern).every(([key, part]) => {
    return Object.hasOwn(value, key) ? fits(value[key as keyof typeof value], part) : part === undefined;
  });
}
