import type { WebhookError, WebhookResponse } from "@countersign/core";
import { sendResponse } from "@countersign/core/node";
import { Catch, HttpException, Injectable, type ArgumentsHost, type ExceptionFilter } from "@nestjs/common";
import type { ServerResponse } from "node:http";

/**
 * Thrown by the guard to end a request without running the handler: a rejection, with its status, or a repeat of a delivery
 * that was handled, with status 200. {@link WebhookExceptionFilter}, which `@VerifyWebhook()` mounts, answers it.
 */
export class WebhookException extends HttpException {
  /** The response. */
  readonly answer: WebhookResponse;

  /**
   * @param answer - The status, headers and body to answer with.
   * @param error - Why the request is rejected. Absent for a repeat.
   */
  constructor(answer: WebhookResponse, error?: WebhookError) {
    super(answer.body === "" ? {} : (JSON.parse(answer.body) as object), answer.status, { cause: error });
    this.answer = answer;
  }
}

/** A response of either platform: Express's is a Node response, Fastify's wraps one. */
type PlatformResponse =
  | (ServerResponse & { readonly raw?: never })
  | {
      readonly raw: ServerResponse;
      readonly sent: boolean;
      code(status: number): void;
      headers(values: Readonly<Record<string, string>>): void;
      send(body: string | undefined): void;
    };

/** Answers a {@link WebhookException} as every other adapter does: a problem document with its headers, or an empty 200. */
export class WebhookExceptionFilter implements ExceptionFilter<WebhookException> {
  // Not by Nest's HttpAdapterHost: where a workspace has two copies of @nestjs/core, the app has that of the other one.
  catch({ answer }: WebhookException, context: ArgumentsHost): void {
    const response = context.switchToHttp().getResponse<PlatformResponse>();
    if (response.raw === undefined) return sendResponse(response, answer);
    if (response.sent) return;
    response.code(answer.status);
    response.headers(answer.headers);
    response.send(answer.body === "" ? undefined : answer.body);
  }
}

// Called, not written with @: decorators are not in the JavaScript that this package is published as.
Injectable()(WebhookExceptionFilter);
Catch(WebhookException)(WebhookExceptionFilter);
