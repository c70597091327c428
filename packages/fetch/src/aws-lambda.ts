import { Buffer, isUtf8 } from "node:buffer";
import { STATUS_CODES } from "node:http";
import {
  bodyReadBefore,
  createReceiver,
  type ReceivedMessage,
  type VerifiedWebhook,
  type WebhookBody,
  type WebhookMessage,
  type WebhookRequest,
} from "@countersign/core";
import { answer, checkHandler } from "./answer.ts";
import { withContext, type HandlerOptions } from "./handler-options.ts";

export { dispatch } from "./verify-webhook.ts";
export type { HandlerOptions } from "./handler-options.ts";

/**
 * The common fields of Lambda's HTTP events: API Gateway's REST (1.0) and HTTP (2.0) APIs, Function URLs, and Application
 * Load Balancers. The event types of `@types/aws-lambda` fit it.
 */
export interface LambdaHttpEvent {
  readonly headers?: Readonly<Record<string, string | undefined>> | null | undefined;
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>> | null | undefined;
  readonly body?: string | null | undefined;
  readonly isBase64Encoded?: boolean | undefined;
  /** The method, in events of REST APIs and load balancers. The others have it in `requestContext.http`. */
  readonly httpMethod?: string;
  /** Absent where another platform makes such events, as Netlify does for its older functions. */
  readonly requestContext?: object | undefined;
}

/** The result that a Lambda function returns to the service that called it; the result types of `@types/aws-lambda` take it. */
export interface LambdaResult {
  statusCode: number;
  /** The status in the form that load balancers need: `401 Unauthorized`. */
  statusDescription?: string;
  headers?: Record<string, string>;
  /** In place of `headers`, if the event had lists of values. */
  multiValueHeaders?: Record<string, string[]>;
  /** Cookies, which HTTP APIs and Function URLs take in place of Set-Cookie headers. */
  cookies?: string[];
  body: string;
  isBase64Encoded: boolean;
}

/** The handler that {@link lambdaHandler} runs for a verified webhook. */
export type LambdaWebhookHandler<
  Event extends LambdaHttpEvent = LambdaHttpEvent,
  Context = unknown,
  Message extends ReceivedMessage = WebhookMessage,
> = (webhook: VerifiedWebhook<Message>, event: Event, context: Context) => Response | Promise<Response>;

/** A Lambda function for HTTP events. */
export type LambdaFunction<Event extends LambdaHttpEvent = LambdaHttpEvent, Context = unknown> = (
  event: Event,
  ...context: undefined extends Context ? [context?: Context] : [context: Context]
) => Promise<LambdaResult>;

/**
 * Creates an AWS Lambda function that runs `handler` only for authentic, well-formed webhooks (spec 5.1). It takes the events of
 * API Gateway (payload formats 1.0 and 2.0), Function URLs and Application Load Balancers, and verifies the exact bytes of their
 * bodies, in base64 or not. Any other request is answered with a problem document.
 *
 * @param options - See `HandlerOptions`. Functions get the event and Lambda's context.
 * @param handler - Gets the verified webhook, the event and Lambda's context. If it throws, the invocation fails: the
 *   service in front answers 5xx, and the sender delivers again.
 * @throws TypeError if the secret or the handler is missing. The function rejects with one for an event that is not an HTTP
 *   event.
 * @example
 * ```ts
 * export const handler = lambdaHandler({ secret }, async ({ message }) => {
 *   if (message.type === "track") console.log(message.event);
 *   return new Response(null, { status: 204 });
 * });
 * ```
 */
export function lambdaHandler<Event extends LambdaHttpEvent = LambdaHttpEvent, Context = unknown>(
  options: HandlerOptions<Event, Context, ReceivedMessage> & { readonly allowUnknownTypes: true },
  handler: LambdaWebhookHandler<Event, Context, ReceivedMessage>,
): LambdaFunction<Event, Context>;
export function lambdaHandler<Event extends LambdaHttpEvent = LambdaHttpEvent, Context = unknown>(
  options: HandlerOptions<Event, Context>,
  handler: LambdaWebhookHandler<Event, Context>,
): LambdaFunction<Event, Context>;
export function lambdaHandler<Event extends LambdaHttpEvent, Context, Message extends ReceivedMessage>(
  options: HandlerOptions<Event, Context, Message>,
  handler: LambdaWebhookHandler<Event, Context, Message>,
): (event: Event, context: Context) => Promise<LambdaResult> {
  const receiver = createReceiver(withContext(options));
  checkHandler("lambdaHandler", handler);
  return async (event, context) => {
    const request = toWebhookRequest(event, { request: event, context });
    const response = await answer(receiver, request, options, (webhook) => handler(webhook, event, context));
    return toResult(response, event);
  };
}

function toWebhookRequest<TRequest>(event: LambdaHttpEvent, request: TRequest): WebhookRequest<TRequest> {
  const method = methodOf(event);
  if (method === undefined) {
    throw new TypeError(
      "lambdaHandler() takes HTTP events, of API Gateway, a Function URL or an Application Load Balancer. This event has no HTTP method.",
    );
  }
  const { headers, multiValueHeaders } = event;
  return {
    method,
    // Only these tell a header that was sent twice. An event of a REST API has both.
    headers: multiValueHeaders ?? headers ?? {},
    body: eventBody(event),
    request,
  };
}

const PARSED =
  "A middleware parsed event.body before lambdaHandler(). Leave out the parser, such as httpJsonBodyParser() of middy, for this function.";

/** The body that the service sent, or what a middleware put in its place. */
function eventBody({ body, isBase64Encoded }: LambdaHttpEvent): WebhookBody {
  if (body == null) return { from: "raw", value: "" };
  if (typeof body !== "string") return bodyReadBefore({ body, hint: PARSED });
  return { from: "raw", value: isBase64Encoded ? Buffer.from(body, "base64") : body };
}

function methodOf(event: LambdaHttpEvent): string | undefined {
  const context: { readonly http?: { readonly method?: string } } | undefined = event?.requestContext;
  return context?.http?.method ?? event?.httpMethod;
}

/** Headers of a connection, which is not the function's: the service in front refuses or renames them. */
const HOP_BY_HOP = new Set(["connection", "content-length", "transfer-encoding"]);

async function toResult(response: Response, event: LambdaHttpEvent): Promise<LambdaResult> {
  const bytes = Buffer.from(await response.arrayBuffer());
  const isText = isUtf8(bytes);
  const headers = [...response.headers].filter(([name]) => !HOP_BY_HOP.has(name));
  return {
    statusCode: response.status,
    ...(event.requestContext &&
      "elb" in event.requestContext && { statusDescription: describeStatus(response) }),
    ...resultHeaders(headers, event),
    body: bytes.toString(isText ? "utf8" : "base64"),
    isBase64Encoded: !isText,
  };
}

function resultHeaders(
  headers: readonly (readonly [string, string])[],
  { requestContext, multiValueHeaders }: LambdaHttpEvent,
): Pick<LambdaResult, "headers" | "multiValueHeaders" | "cookies"> {
  if (multiValueHeaders != null) {
    const values: Record<string, string[]> = {};
    for (const [name, value] of headers) (values[name] ??= []).push(value);
    return { multiValueHeaders: values };
  }
  const cookies = headers.filter(([name]) => name === "set-cookie").map(([, value]) => value);
  // The services that take a list of cookies.
  if (cookies.length === 0 || !(requestContext && "http" in requestContext))
    return { headers: Object.fromEntries(headers) };
  return { headers: Object.fromEntries(headers.filter(([name]) => name !== "set-cookie")), cookies };
}

function describeStatus({ status, statusText }: Response): string {
  return `${status} ${statusText || (STATUS_CODES[status] ?? "Unknown")}`;
}
