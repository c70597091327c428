import type { IncomingMessage, RequestListener } from "node:http";
import { isUtf8 } from "node:buffer";
import { WebhookError } from "@countersign/core";
import { readRawBody } from "@countersign/core/node";
import type { LambdaHttpEvent, LambdaResult } from "@countersign/fetch/aws-lambda";

/** One of the services that call a Lambda function for an HTTP request. */
export interface LambdaGateway {
  readonly name: string;
  /** The event it makes of a request, as its documentation shows it. */
  readonly toEvent: (request: IncomingMessage, bytes: Uint8Array) => object;
}

const HTTP_CONTEXT = {
  accountId: "123456789012",
  apiId: "api",
  domainName: "example.com",
  stage: "$default",
};

function encoded(bytes: Uint8Array, isBase64Encoded: boolean): { body: string; isBase64Encoded: boolean } {
  return { body: Buffer.from(bytes).toString(isBase64Encoded ? "base64" : "utf8"), isBase64Encoded };
}

/** Values of one header in the order they came, under the name as it was sent. */
function multiValueHeaders({ rawHeaders }: IncomingMessage): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (let index = 0; index < rawHeaders.length; index += 2) {
    (headers[rawHeaders[index] ?? ""] ??= []).push(rawHeaders[index + 1] ?? "");
  }
  return headers;
}

function lastValues(request: IncomingMessage): Record<string, string> {
  const entries = Object.entries(multiValueHeaders(request));
  return Object.fromEntries(entries.map(([name, values]) => [name, values.at(-1) ?? ""]));
}

function joinedValues(request: IncomingMessage): Record<string, string> {
  const entries = Object.entries(request.headersDistinct);
  return Object.fromEntries(entries.map(([name, values = []]) => [name, values.join(",")]));
}

/** Payload format 2.0: lower-case names, several values joined, the method in the context, no body at all for an empty one. */
function payload2(request: IncomingMessage, bytes: Uint8Array, isBase64: boolean): object {
  const { method = "" } = request;
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath: "/webhooks",
    rawQueryString: "",
    headers: joinedValues(request),
    requestContext: { ...HTTP_CONTEXT, http: { method, path: "/webhooks", protocol: "HTTP/1.1" } },
    ...(bytes.length === 0 ? { isBase64Encoded: false } : encoded(bytes, isBase64)),
  };
}

/** The four kinds of event, and a load balancer that was told to pass on every value of a header. */
export const lambdaGateways: readonly LambdaGateway[] = [
  {
    name: "a REST API of API Gateway (1.0)",
    toEvent: (request, bytes) => ({
      resource: "/webhooks",
      path: "/webhooks",
      httpMethod: request.method,
      headers: lastValues(request),
      multiValueHeaders: multiValueHeaders(request),
      queryStringParameters: null,
      requestContext: { ...HTTP_CONTEXT, httpMethod: request.method, resourcePath: "/webhooks" },
      ...(bytes.length === 0 ? { body: null, isBase64Encoded: false } : encoded(bytes, true)),
    }),
  },
  {
    name: "an HTTP API of API Gateway (2.0)",
    toEvent: (request, bytes) => payload2(request, bytes, !isUtf8(bytes)),
  },
  { name: "a Function URL", toEvent: (request, bytes) => payload2(request, bytes, true) },
  {
    name: "a load balancer",
    toEvent: (request, bytes) => ({
      requestContext: { elb: { targetGroupArn: "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/t" } },
      httpMethod: request.method,
      path: "/webhooks",
      queryStringParameters: {},
      headers: joinedValues(request),
      ...encoded(bytes, !isUtf8(bytes)),
    }),
  },
  {
    name: "a load balancer with multi-value headers",
    toEvent: (request, bytes) => ({
      requestContext: { elb: { targetGroupArn: "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/t" } },
      httpMethod: request.method,
      path: "/webhooks",
      multiValueHeaders: request.headersDistinct,
      ...encoded(bytes, true),
    }),
  },
];

/** Calls a function for every request, as a service does: events and results are JSON on the way. */
export function lambdaListener(
  { toEvent }: LambdaGateway,
  invoke: (event: LambdaHttpEvent) => Promise<LambdaResult>,
): RequestListener {
  return (request, response) => {
    readRawBody(request, { maxBytes: 1_048_576 })
      .then(async (bytes) => {
        const event = JSON.parse(JSON.stringify(toEvent(request, bytes))) as LambdaHttpEvent;
        const result = JSON.parse(JSON.stringify(await invoke(event))) as LambdaResult;
        response.writeHead(result.statusCode, { ...result.headers, ...result.multiValueHeaders });
        response.end(Buffer.from(result.body, result.isBase64Encoded ? "base64" : "utf8"));
      })
      .catch((error: unknown) => {
        const status = error instanceof WebhookError ? error.status : 502;
        response.writeHead(status).end();
        // Reads on: a connection that is closed with bytes unread is reset, and the caller may miss the answer.
        request.resume();
      });
  };
}
