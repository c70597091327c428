import {
  checkEvents,
  validateEvent,
  type EventDefinitions,
  type EventSchemas,
  type TrackEvent,
} from "./events.ts";
import { MESSAGE_RULES } from "./message-fields.ts";
import type { MessageType, UnknownMessage, WebhookMessage } from "./messages.ts";
import { checkOptionNames } from "./option-names.ts";
import type { VerifiedWebhook } from "./verify-webhook.ts";

/** The message of a type. */
export type MessageOfType<Type extends MessageType> = Extract<WebhookMessage, { type: Type }>;

/** What a router calls with a message. What it throws makes the delivery fail, so that the sender repeats it. */
export type WebhookHandler<Message> = (
  message: Message,
  webhook: VerifiedWebhook<WebhookMessage | UnknownMessage>,
) => void | Promise<void>;

/** Runs the one handler that fits a message best. Made by {@link createRouter}. */
export interface WebhookRouter<Schemas extends EventSchemas = EventSchemas> {
  /**
   * Handles the messages of a type that no more precise handler takes.
   *
   * @throws TypeError if the type has a handler already, or is not one of the seven.
   */
  on<Type extends MessageType>(type: Type, handler: WebhookHandler<MessageOfType<Type>>): this;
  /**
   * Handles one track event by its name. If `events` defines it, its properties have the schema's type.
   *
   * @throws TypeError if the event has a handler already.
   */
  on<Name extends keyof Schemas & string>(
    type: "track",
    event: Name,
    handler: WebhookHandler<TrackEvent<Schemas, Name>>,
  ): this;
  /**
   * Handles whatever no other handler takes, unknown types included. Without it, such messages are ignored.
   *
   * @throws TypeError if there is such a handler already.
   */
  otherwise(handler: WebhookHandler<WebhookMessage | UnknownMessage>): this;
  /**
   * Runs the handler for a verified message: by event name, else by type, else `otherwise`.
   *
   * @throws WebhookError `ERR_INVALID_MESSAGE` if the properties do not fit the event's schema.
   * @throws TypeError if there is no verified webhook, as where no `verifyWebhook()` ran before.
   * @throws Whatever the handler throws.
   */
  dispatch(webhook: VerifiedWebhook<WebhookMessage | UnknownMessage>): Promise<void>;
}

/**
 * Makes a router: handlers by message type, and by event name for track messages.
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
export function createRouter<const Schemas extends EventSchemas = EventSchemas>(
  options: { readonly events?: EventDefinitions<Schemas> } = {},
): WebhookRouter<Schemas> {
  checkOptionNames("createRouter", options, ["events"]);
  const { events } = options;
  checkEvents(events);
  // A handler is stored for the messages its key stands for, which is all that makes these calls safe.
  const byType = new Map<string, WebhookHandler<never>>();
  const byEvent = new Map<string, WebhookHandler<never>>();
  let fallback: WebhookHandler<WebhookMessage | UnknownMessage> | undefined;

  const router: WebhookRouter<Schemas> = {
    on(type: MessageType, ...rest: [WebhookHandler<never>] | [string, WebhookHandler<never>]) {
      if (!Object.hasOwn(MESSAGE_RULES, type))
        throw new TypeError(`There are no messages of type "${type}". Use .otherwise().`);
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
      if (fallback !== undefined) throw new TypeError("There is a handler of .otherwise() already.");
      fallback = handler;
      return router;
    },
    async dispatch(webhook) {
      checkWebhook(webhook);
      const message = events === undefined ? webhook.message : await validateEvent(webhook.message, events);
      const event = message.type === "track" ? String(message["event" as keyof typeof message]) : undefined;
      const handler =
        (event === undefined ? undefined : byEvent.get(event)) ?? byType.get(message.type) ?? fallback;
      await handler?.(message as never, { ...webhook, message });
    },
  };
  return router;
}

function checkWebhook(webhook: Partial<VerifiedWebhook<WebhookMessage | UnknownMessage>> | undefined): void {
  if (typeof webhook?.message === "object") return;
  throw new TypeError(
    "dispatch() takes a verified webhook, not a message alone. In a framework, verifyWebhook() must run before it.",
  );
}

function addOnce(
  handlers: Map<string, WebhookHandler<never>>,
  key: string,
  handler: WebhookHandler<never>,
): void {
  if (typeof handler !== "function") throw new TypeError(`The handler for "${key}" must be a function.`);
  if (handlers.has(key)) throw new TypeError(`There is a handler for "${key}" already.`);
  handlers.set(key, handler);
}
