import type { WebhookError } from "../errors.ts";

/** An HTTP response as plain data: what an adapter writes to its framework's response. */
export interface WebhookResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Empty if the response has no body. */
  readonly body: string;
}

/** The response to a delivery that was handled before. */
export const ALREADY_HANDLED: WebhookResponse = { status: 200, headers: {}, body: "" };

/** The response to a message whose handler has run. */
export const HANDLED: WebhookResponse = { status: 204, headers: {}, body: "" };

/** The title of each status that a {@link WebhookError} can have. */
export const PROBLEM_TITLES: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  405: "Method Not Allowed",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

/**
 * The response to a rejected request: an RFC 9457 `application/problem+json` with the stable `code`.
 * It shows the error's message and nothing else of it: no hint, no digest, no stack.
 *
 * @param error - The error of a receiver.
 * @example
 * ```ts
 * const { status, headers, body } = toProblem(error);
 * response.writeHead(status, headers).end(body);
 * ```
 */
export function toProblem(error: WebhookError): WebhookResponse {
  const { status, code, message } = error;
  return {
    status,
    headers: {
      "content-type": "application/problem+json; charset=utf-8",
      "cache-control": "no-store",
      ...error.headers,
    },
    body: JSON.stringify({
      type: "about:blank",
      title: PROBLEM_TITLES[status] ?? "Error",
      status,
      detail: message,
      code,
    }),
  };
}
