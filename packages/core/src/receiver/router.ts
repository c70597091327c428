import { checkOptionNames, EVENTS_SYNONYMS, type OptionNames } from "@countersign/protocol/options";
import { WebhookError } from "../errors.ts";
import {
  checkEvents,
  type EventDefinitions,
  type EventSchemas,
  type InvalidEvents,
  type TrackEvent,
  type UnvalidatedEvents,
} from "../messages/events.ts";
import { MESSAGE_RULES } from "../messages/message-fields.ts";
import type { MessageType, ReceivedMessage, WebhookMessage } from "../messages/messages.ts";
import { HANDLED, toProblem, type WebhookResponse } from "./response.ts";
import type * as ValidateEvent from "../messages/validate-event.ts";
import type { VerifiedWebhook } from "../verification/verify-webhook.ts";

/** The message of a type. */
export type MessageOfType<Type extends MessageType> = Extract<WebhookMessage, { type: Type }>;

/** A router's handler. If it throws, the delivery fails and the sender retries it. */
export type WebhookHandler<Message> = (
  message: Message,
  webhook: VerifiedWebhook<ReceivedMessage>,
) => void | Promise<void>;

/** Runs the most specific handler of a message. Made by {@link createRouter}. */
export interface WebhookRouter<Schemas extends EventSchemas = EventSchemas> {
  /**
   * Handles the messages of a type that have no more specific handler.
   *
   * @throws TypeError if the type has a handler already, or is not one of the seven.
   */
  on<Type extends MessageType>(type: Type, handler: WebhookHandler<MessageOfType<Type>>): this;
  /**
   * Handles one track event by its name. If `events` defines it, its properties have the type of the schema's output. With
   * `invalidEvents: "report"` they are unvalidated JSON, and `webhook.issues` says what does not match.
   *
   * @throws TypeError if the event has a handler already.
   */
  on<Name extends keyof Schemas & string>(
    type: "track",
    event: Name,
    handler: WebhookHandler<TrackEvent<Schemas, Name>>,
  ): this;
  /**
   * Handles every message that has no other handler, including those of unknown types. Without it, they are ignored.
   *
   * @throws TypeError if `otherwise` has a handler already.
   */
  otherwise(handler: WebhookHandler<ReceivedMessage>): this;
  /**
   * Runs the handler for a verified message: by event name, else by type, else `otherwise`.
   *
   * @returns The response: 204 after the handler has run, or the problem document of a {@link WebhookError}, as for
   *   properties that do not match the event's schema (422).
   * @throws TypeError if there is no verified webhook, because `verifyWebhook()` did not run before.
   * @throws Whatever the handler throws: answer 5xx, so that the sender retries.
   */
  dispatch(webhook: VerifiedWebhook<ReceivedMessage>): Promise<WebhookResponse>;
}

/** Options of {@link createRouter}. */
export interface RouterOptions<Schemas extends EventSchemas = EventSchemas> {
  /** From `defineEvents`: types and validates the track events it names. Default: none. */
  readonly events?: EventDefinitions<Schemas> | undefined;
  /** As for a receiver; give both the same. Default: `"reject"`. */
  readonly invalidEvents?: InvalidEvents | undefined;
}

// Only apps with events load it.
let validation: Promise<typeof ValidateEvent> | undefined;

const OPTION_NAMES: OptionNames<RouterOptions> = { events: EVENTS_SYNONYMS, invalidEvents: true };

/**
 * Creates a router: handlers by message type, and by event name for track messages.
 *
 * @param options - `events` from `defineEvents` types and validates the track events it names.
 * @throws TypeError if `events` does not come from `defineEvents`.
 * @example
 * ```ts
 * const router = createRouter({ events })
 *   .on("identify", ({ userId, traits }) => save(userId, traits))
 *   .on("track", "Order Completed", ({ properties }) => ship(properties.orderId))
 *   .otherwise(({ type }) => log.debug(`ignored ${type}`));
 * ```
 */
export function createRouter<const Schemas extends EventSchemas>(
  options: RouterOptions<Schemas> & { readonly invalidEvents: "report" },
): WebhookRouter<UnvalidatedEvents<Schemas>>;
export function createRouter<const Schemas extends EventSchemas = EventSchemas>(
  options?: RouterOptions<Schemas> & { readonly invalidEvents?: "reject" | undefined },
): WebhookRouter<Schemas>;
export function createRouter<Schemas extends EventSchemas>(
  options: RouterOptions<Schemas> = {},
): WebhookRouter<Schemas> {
  checkOptionNames("createRouter()", options, OPTION_NAMES);
  const { events, invalidEvents } = options;
  checkEvents(events, invalidEvents);
  // A handler is stored for the messages its key stands for, which is all that makes these calls safe.
  const byType = new Map<string, WebhookHandler<never>>();
  const byEvent = new Map<string, WebhookHandler<never>>();
  let fallback: WebhookHandler<ReceivedMessage> | undefined;

  const router: WebhookRouter<Schemas> = {
    on(type: MessageType, ...rest: [WebhookHandler<never>] | [string, WebhookHandler<never>]) {
      if (!Object.hasOwn(MESSAGE_RULES, type))
        throw new TypeError(`Unknown message type "${type}". Use .otherwise() for other types.`);
      const [event, handler] = rest.length === 2 ? rest : [undefined, rest[0]];
      if (event !== undefined && type !== "track") {
        throw new TypeError(`Only track messages have an event name, but "${event}" was given for ${type}.`);
      }
      if (event === undefined) addOnce(byType, type, handler);
      else addOnce(byEvent, event, handler);
      return router;
    },
    otherwise(handler) {
      if (typeof handler !== "function")
        throw new TypeError("The handler of .otherwise() must be a function.");
      if (fallback !== undefined) throw new TypeError(".otherwise() already has a handler.");
      fallback = handler;
      return router;
    },
    async dispatch(webhook) {
      checkWebhook(webhook);
      try {
        await run(webhook);
        return HANDLED;
      } catch (error) {
        if (error instanceof WebhookError) return toProblem(error);
        throw error;
      }
    },
  };
  return router;

  async function run(webhook: VerifiedWebhook<ReceivedMessage>): Promise<void> {
    let validated = webhook;
    if (events !== undefined) {
      validation ??= import("../messages/validate-event.ts");
      const { validateEvent } = await validation;
      const { message, issues } = await validateEvent(webhook.message, events, invalidEvents);
      validated = { ...webhook, message, ...(issues && { issues }) };
    }
    const { message } = validated;
    const event = message.type === "track" ? String(message["event" as keyof typeof message]) : undefined;
    const handler =
      (event === undefined ? undefined : byEvent.get(event)) ?? byType.get(message.type) ?? fallback;
    await handler?.(message as never, validated);
  }
}

function checkWebhook(webhook: Partial<VerifiedWebhook<ReceivedMessage>> | undefined): void {
  if (typeof webhook?.message === "object") return;
  throw new TypeError(
    "dispatch() takes a verified webhook, not only its message. In a framework, verifyWebhook() must run before it.",
  );
}

function addOnce(
  handlers: Map<string, WebhookHandler<never>>,
  key: string,
  handler: WebhookHandler<never>,
): void {
  if (typeof handler !== "function") throw new TypeError(`The handler for "${key}" must be a function.`);
  if (handlers.has(key)) throw new TypeError(`"${key}" already has a handler.`);
  handlers.set(key, handler);
}
