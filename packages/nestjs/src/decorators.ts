// Arguments that are defaults here are not in an app that augments WebhookTypes.
/* oxlint-disable typescript/no-unnecessary-type-arguments */
import type { AcceptedMessage, VerifiedWebhook, WebhookRouter } from "@countersign/core";
import {
  applyDecorators,
  createParamDecorator,
  UseFilters,
  UseGuards,
  type ExecutionContext,
} from "@nestjs/common";
import { WebhookException, WebhookExceptionFilter } from "./webhook-exception.ts";
import { WebhookGuard, type PlatformRequest } from "./webhook-guard.ts";

/**
 * Which messages the app accepts. If you set `allowUnknownTypes`, declare it, and parameters with `@Webhook("message")` must
 * expect an `UnknownMessage`, too:
 *
 * @example
 * ```ts
 * import "@countersign/nestjs";
 *
 * declare module "@countersign/nestjs" {
 *   interface WebhookTypes { allowUnknownTypes: true }
 * }
 * ```
 */
export interface WebhookTypes {}

/** A message that the app accepts; see {@link WebhookTypes}. */
export type AppMessage = AcceptedMessage<WebhookTypes>;

/** A verified webhook with a message that the app accepts. */
export type AppWebhook = VerifiedWebhook<AppMessage>;

/**
 * Guards a route, or every route of a controller: only authentic, well-formed webhooks reach the handler (spec 5.1). Any other
 * request is answered with a problem document. The module that declares the controller imports `CountersignModule`.
 *
 * @example
 * ```ts
 * @Controller("webhooks")
 * class WebhooksController {
 *   @Post()
 *   @HttpCode(204)
 *   @VerifyWebhook()
 *   receive(@Webhook("message") message: WebhookMessage) {
 *     if (message.type === "track") console.log(message.event);
 *   }
 * }
 * ```
 */
export function VerifyWebhook(): MethodDecorator & ClassDecorator {
  return applyDecorators(UseGuards(WebhookGuard), UseFilters(WebhookExceptionFilter));
}

/** A parameter decorator that compiles only where the parameter can take a `Value`. */
export type TypedParameter<Value> = <Target, Key extends keyof Target, Index extends number>(
  target: Target,
  key: Key,
  index: [Value] extends [ParameterAt<Target[Key], Index>] ? Index : never,
) => void;

type ParameterAt<Method, Index extends number> = Method extends (...parameters: infer Parameters) => unknown
  ? Parameters[Index]
  : never;

/**
 * The verified webhook as a parameter of a handler with `@VerifyWebhook()`. The parameter's type is checked: one that cannot
 * take the value does not compile.
 *
 * @example
 * ```ts
 * class WebhooksController {
 *   receive(@Webhook() webhook: VerifiedWebhook, @Webhook("message") message: WebhookMessage) {
 *     console.log(message.type, webhook.secretIndex);
 *   }
 * }
 * ```
 */
export function Webhook(): TypedParameter<AppWebhook>;
/**
 * One field of the verified webhook as a parameter of a handler with `@VerifyWebhook()`.
 *
 * @param field - Such as `"message"`.
 */
export function Webhook<Field extends keyof AppWebhook>(field: Field): TypedParameter<AppWebhook[Field]>;
export function Webhook(field?: keyof AppWebhook): TypedParameter<unknown> {
  return parameterOf(field) as TypedParameter<unknown>;
}

const parameterOf = createParamDecorator((field: keyof AppWebhook | undefined, context: ExecutionContext) => {
  const { webhook } = context.switchToHttp().getRequest<PlatformRequest>();
  if (webhook === undefined) {
    throw new TypeError(
      "@Webhook() needs a verified request: put @VerifyWebhook() on the method or its controller.",
    );
  }
  return field === undefined ? webhook : webhook[field];
});

/**
 * Runs a router from `createRouter` on a verified webhook. Errors of a handler go to Nest's exception
 * filters, so that the sender delivers again.
 *
 * @param router - The handlers.
 * @param webhook - From `@Webhook()`.
 * @throws WebhookException of status 422 if the message does not match the router's events.
 * @example
 * ```ts
 * class WebhooksController {
 *   receive(@Webhook() webhook: VerifiedWebhook) {
 *     return dispatch(router, webhook);
 *   }
 * }
 * ```
 */
export async function dispatch(router: Pick<WebhookRouter, "dispatch">, webhook: AppWebhook): Promise<void> {
  const answer = await router.dispatch(webhook);
  if (answer.status >= 400) throw new WebhookException(answer);
}
