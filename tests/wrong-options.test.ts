import { certify } from "@countersign/certify";
import { Analytics } from "@countersign/client";
import { createReceiver, createRouter, memoryDedupe } from "@countersign/core";
import { verifyWebhook as express } from "@countersign/express";
import { verifyWebhook as fastifyPlugin } from "@countersign/fastify";
import { webhookHandler, verifyWebhook as fetchVerifier } from "@countersign/fetch";
import { lambdaHandler } from "@countersign/fetch/aws-lambda";
import { verifyWebhook as koa } from "@countersign/koa";
import { CountersignModule } from "@countersign/nestjs";
import { redisDedupe } from "@countersign/redis";
import { createSender, sqliteStore } from "@countersign/sender";
import { createTestSender } from "@countersign/sender/testing";
import { createHealthServer, createServer } from "@countersign/server";
import { NestFactory } from "@nestjs/core";
import fastify from "fastify";
import { expect, it } from "vitest";

type Options = Readonly<Record<string, unknown>>;

/** Nest asks for the options when an app starts. */
function createNestApp(module: ReturnType<typeof CountersignModule.register>): Promise<unknown> {
  return NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
}

/** What takes options, as JavaScript calls it. */
const takers = {
  "the client": (options) => new Analytics("KEY", options),
  "the client's retry": (retry) => new Analytics("KEY", { retry }),
  "createReceiver()": (options) => createReceiver({ secret: "s", ...options }),
  "Express's verifyWebhook()": (options) => express({ secret: "s", ...options }),
  "Fastify's verifyWebhook": (options) => fastify().register(fastifyPlugin, { secret: "s", ...options }),
  "Nest's module": (options) => createNestApp(CountersignModule.register({ secret: "s", ...options })),
  "Koa's verifyWebhook()": (options) => koa({ secret: "s", ...options }),
  "fetch's verifyWebhook()": (options) =>
    fetchVerifier(new Request("http://127.0.0.1/"), { secret: "s", ...options }),
  "webhookHandler()": (options) => webhookHandler({ secret: "s", ...options }, () => new Response()),
  "lambdaHandler()": (options) => lambdaHandler({ secret: "s", ...options }, () => new Response()),
  "createRouter()": (options) => createRouter(options),
  "memoryDedupe()": (options) => memoryDedupe(options),
  "redisDedupe()": (options) => redisDedupe({ eval: () => {}, evalsha: () => {} } as never, options),
  "createSender()": (options) => createSender({ url: "http://127.0.0.1:9", ...options }),
  "createTestSender()": (options) => createTestSender({ target: () => {}, ...options }),
  "sqliteStore()": (options) => sqliteStore({ path: "x", ...options }),
  "createServer()": (options) => createServer({ ...options }),
  "createHealthServer()": (options) => createHealthServer({ port: 0, ...options }),
  "certify()": (options) => certify({ url: "http://127.0.0.1:9", secret: "s", ...options }),
} satisfies Readonly<Record<string, (options: Options) => unknown>>;

const RECEIVERS = [
  "createReceiver()",
  "Express's verifyWebhook()",
  "Fastify's verifyWebhook",
  "Nest's module",
  "Koa's verifyWebhook()",
  "fetch's verifyWebhook()",
  "webhookHandler()",
  "lambdaHandler()",
] as const;

/** The names that other libraries have, and what the message must say. */
const RECEIVER_NAMES: readonly (readonly [string, string])[] = [
  ["sharedSecret", "it is called secret here"],
  ["signingSecret", "it is called secret here"],
  ["webhookSecret", "it is called secret here"],
  ["endpoint_secret", "it is called secret here"],
  ["key", "it is called secret here"],
  ["secrets", 'pass the list as "secret"'],
  ["header", "the signature is always in X-Signature"],
  ["tolerance", "signatures have no time in them; use dedupe against repeats"],
  ["limit", "it is called maxBodyBytes here, a number of bytes"],
  ["maxBodySize", "it is called maxBodyBytes here, a number of bytes"],
  ["bodyLimit", "it is called maxBodyBytes here, a number of bytes"],
  ["errorHandler", "it is called onRejected here"],
  ["idempotency", "it is called dedupe here"],
];

const OTHERS: Readonly<Partial<Record<keyof typeof takers, readonly (readonly [string, string])[]>>> = {
  "the client": [
    ["host", "it is called endpoint here"],
    ["apiHost", "it is called endpoint here"],
    ["dataPlaneUrl", "it is called endpoint here"],
    ["url", "it is called endpoint here"],
    ["flushInterval", "it is called flushAfter here, in milliseconds"],
    ["maxEventsInBatch", "it is called flushAt here"],
    ["maxQueueLength", "it is called maxQueueSize here"],
    ["httpRequestTimeout", "it is called requestTimeout here, in milliseconds"],
    ["httpClient", "it is called transport here"],
    ["maxRetries", "use retry.giveUpAfter, in milliseconds"],
    ["enable", "it is called disable here, true sends nothing"],
    ["debug", "it is called log here"],
    ["compression", "it is called gzip here"],
  ],
  "the client's retry": [["maxRetries", "use retry.giveUpAfter, in milliseconds"]],
  "createRouter()": [["schemas", "it is called events here"]],
  "memoryDedupe()": [
    ["expiresIn", "it is called ttl here, in milliseconds as a number"],
    ["limit", "it is called max here"],
  ],
  "redisDedupe()": [
    ["keyPrefix", "it is called prefix here"],
    ["expire", "it is called ttl here, in milliseconds as a number"],
    ["commandTimeout", "it is called timeout here"],
  ],
  "createSender()": [
    ["sharedSecret", "it is called secret here"],
    ["signing_secret", "it is called secret here"],
    ["timeout", 'it is called attemptTimeout here, in milliseconds, or text such as "5s"'],
    ["maxRetries", "it is called retry here"],
    ["database", "it is called store here"],
  ],
  "createTestSender()": [["webhookSecret", "it is called secret here"]],
  "sqliteStore()": [
    ["filename", "it is called path here"],
    ["ttl", 'it is called keepFor here, in milliseconds, or text such as "7d"'],
    ["limit", "it is called maxBytes here, a number of bytes"],
  ],
  "createServer()": [
    ["url", "it is called to here"],
    ["sharedSecret", "it is called secret here"],
    ["database", "it is called data here"],
    ["hostname", "it is called host here"],
    ["apiKey", "it is called token here"],
  ],
  "createHealthServer()": [
    ["bind", "it is called host here"],
    ["password", "it is called token here"],
    ["allowedHosts", "it is called allowHosts here"],
  ],
  "certify()": [
    ["timeout", "it is called timeoutMs here, in milliseconds"],
    ["signingSecret", "it is called secret here"],
  ],
};

const cases = [
  ...RECEIVERS.flatMap((taker) => RECEIVER_NAMES.map((one) => [taker, ...one] as const)),
  ...Object.entries(OTHERS).flatMap(([taker, names]) =>
    names.map((one) => [taker as keyof typeof takers, ...one] as const),
  ),
];

async function messageOf(taker: keyof typeof takers, options: Options): Promise<string> {
  try {
    await takers[taker](options);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error(`${taker} accepted ${JSON.stringify(options)}.`);
}

it.each(cases)("%s refuses %s, and says: %s", async (taker, name, says) => {
  const message = await messageOf(taker, { [name]: "x" });
  expect(message).toContain(`unknown option "${name}"`);
  expect(message).toContain(says);
  expect(message).not.toContain("\n");
});

it.each([
  [
    "the client",
    { flushAfter: "10s" },
    "'flushAfter' must be a whole number of milliseconds from 1 to 2147483647, not \"10s\".",
  ],
  ["the client's retry", { giveUpAfter: "1h" }, "of milliseconds"],
  ["memoryDedupe()", { ttl: "5h" }, "ttl must be a positive number of milliseconds, but is string 5h."],
  ["redisDedupe()", { ttl: "5 hours" }, 'must be milliseconds or text such as "250ms"'],
  ["createSender()", { attemptTimeout: "5 sec" }, 'must be milliseconds or text such as "250ms"'],
  ["createReceiver()", { maxBodyBytes: "100kb" }, "bytes"],
] as const)("%s says in which unit %j must be", async (taker, options, says) => {
  expect(await messageOf(taker, options)).toContain(says);
});

const URL_OF_ENDPOINT = "http://127.0.0.1:9/";

/** A sender with one more setting at each of the places that have some. */
const levels = {
  source: (more) => ({ ...more, destinations: [{ endpoints: [{ url: URL_OF_ENDPOINT }] }] }),
  destination: (more) => ({ destinations: [{ ...more, endpoints: [{ url: URL_OF_ENDPOINT }] }] }),
  endpoint: (more) => ({ destinations: [{ endpoints: [{ url: URL_OF_ENDPOINT, ...more }] }] }),
} satisfies Readonly<Record<string, (more: Options) => object>>;

const PLACES = {
  source: "sources[0]",
  destination: "sources[0].destinations[0]",
  endpoint: "sources[0].destinations[0].endpoints[0]",
} as const;

it.each([
  ["source", "apiKey", "it is called writeKey here"],
  ["source", "destination", 'did you mean "destinations"?'],
  ["source", "secret", "a destination of the source has it"],
  ["source", "url", "destinations: [{ endpoints: [{ url }] }]"],
  ["destination", "sharedSecret", "it is called secret here"],
  ["destination", "signing_secret", "it is called secret here"],
  ["destination", "endpoint", 'did you mean "endpoints"?'],
  ["destination", "maxConcurrency", 'did you mean "concurrency"?'],
  ["destination", "url", "each endpoint has one: endpoints: [{ url }]"],
  ["destination", "headers", "each of its endpoints has it"],
  ["destination", "disabled", "it is called enabled here, false sends nothing"],
  ["endpoint", "header", "it is called headers here"],
  ["endpoint", "webhookUrl", "it is called url here"],
  ["endpoint", "secret", "its destination has it"],
  ["endpoint", "webhookSecret", "its destination has it, as secret"],
] as const)("settings of a %s refuse %s, and say: %s", async (level, name, says) => {
  const source = { name: "shop", ...levels[level]({ [name]: "x" }) };
  const error = await createSender({ sources: [source] }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "ERR_SETTINGS", issues: [{ path: `${PLACES[level]}.${name}` }] });
  expect((error as Error).message).toContain("is an unknown setting");
  expect((error as Error).message).toContain(says);
});
