import { accepted } from "./accepted.ts";
import { dedupeKey, type DedupeScope } from "../dedupe/dedupe-key.ts";
import { WebhookError } from "../errors.ts";
import type { ReceivedMessage } from "../messages/messages.ts";
import type { Received } from "./received.ts";
import type { Progress } from "./progress.ts";
import { usableSecrets, type ReceiverOptions, type SecretFunction } from "./receiver-options.ts";
import { ALREADY_HANDLED } from "./response.ts";
import { checkClaim, settleIn } from "../dedupe/settle.ts";
import { validateEvent } from "../messages/validate-event.ts";
import type { VerifiedWebhook } from "../verification/verify-webhook.ts";
import { debugVerdict } from "./warnings.ts";

// What has to be awaited. Only receivers with an option that may have to be load this module.

/** Accepts a verified message as far as something has to be awaited for it: schemas, the dedupe store, the hook. */
export async function accept<TRequest, Message extends ReceivedMessage>(
  verified: VerifiedWebhook<Message>,
  request: TRequest,
  progress: Progress,
  { dedupe, events, invalidEvents, onVerified }: ReceiverOptions<TRequest, Message>,
): Promise<Received<Message>> {
  const key =
    dedupe && dedupeKey(verified.message, verified.rawBody, scopeOf(progress, verified.secretIndex));
  let webhook = verified;
  if (events !== undefined) {
    const { message, issues } = await validateEvent(verified.message, events, invalidEvents);
    webhook = { ...verified, message, ...(issues && { issues }) };
  }
  if (dedupe !== undefined && key !== undefined) {
    const claim = checkClaim(await dedupe.claim(key));
    if (claim === "in-flight") throw new WebhookError("ERR_DUPLICATE_IN_FLIGHT");
    if (claim === "done") {
      debugVerdict("duplicate", webhook.message.type, "");
      return { verdict: "duplicate", webhook, response: ALREADY_HANDLED };
    }
  }
  const settle = settleIn(dedupe, key);
  try {
    await onVerified?.(webhook, request);
  } catch (error) {
    await settle(500);
    throw error;
  }
  return accepted(webhook, settle);
}

/** Asks the app for the secrets of a request. */
export async function findSecrets<TRequest>(
  secret: SecretFunction<TRequest>,
  request: TRequest,
  progress: Progress,
): Promise<void> {
  const result = await secret(request);
  const named = typeof result === "object" && result !== null && "tenant" in result;
  if (named && (typeof result.tenant !== "string" || result.tenant === "")) {
    throw new TypeError("The secret function must return the tenant as a non-empty string.");
  }
  const found = named ? result.secret : result;
  // Not a tenant without a secret, but a variable that is not set. A rejection would lose the message.
  if (found === "") {
    throw new TypeError("The secret function returned an empty text. Set the variable that it comes from.");
  }
  if (found == null || found.length === 0) {
    throw new WebhookError("ERR_SIGNATURE_MISMATCH", {
      hint: "The secret function returned no secret for this request.",
    });
  }
  progress.secrets = usableSecrets(found);
  progress.tenant = { name: named ? result.tenant : undefined };
}

function scopeOf({ tenant, secrets }: Progress, secretIndex: number): DedupeScope {
  if (tenant === undefined) return { by: "none" };
  if (tenant.name !== undefined) return { by: "tenant", tenant: tenant.name };
  return { by: "secret", secret: secrets?.[secretIndex] ?? "" };
}
