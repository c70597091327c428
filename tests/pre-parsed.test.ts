import type { ReceiverOptions, VerifiedWebhook, WebhookError } from "@countersign/core";
import { mutations, sampleMessages, signedRequest, type SignedRequest } from "@countersign/core/testing";
import { describe, expect, it, vi } from "vitest";
import { post } from "./support/post.ts";
import { behindNothing, behindParsed, behindRaw, start, type Receiver } from "./support/receivers.ts";

const SECRET = "the secret of the audited receiver";
const track = signedRequest({ ...sampleMessages.track, properties: { emoji: "🛒 é", price: 1e21 } }, SECRET);

async function postTo(
  receiver: Receiver,
  request: SignedRequest,
  options: ReceiverOptions = {},
): Promise<{ status: number; webhook: VerifiedWebhook | undefined; error: WebhookError | undefined }> {
  const handle = vi.fn<(webhook: unknown) => void>();
  const onRejected = vi.fn<(error: WebhookError) => void>();
  const running = await start(receiver, { secret: SECRET, handle, onRejected, ...options });
  try {
    const { status } = await post(running.url, request);
    const webhook = handle.mock.calls[0]?.[0] as VerifiedWebhook | undefined;
    return { status, webhook, error: onRejected.mock.calls[0]?.[0] };
  } finally {
    await running.close();
  }
}

describe.each(behindRaw)("$name", (receiver) => {
  it("verifies the exact bytes, even when strict", async () => {
    for (const strict of [false, true]) {
      const { status, webhook } = await postTo(receiver, track, { strict });
      expect(status).toBe(204);
      expect(webhook?.verifiedOver).toBe("bytes");
      expect(Buffer.from(webhook?.rawBody ?? [])).toEqual(Buffer.from(track.body));
      expect(webhook?.receivedBody).toEqual(webhook?.rawBody);
    }
  });

  it("takes no forgery for a message", async () => {
    for (const forgery of [mutations.tampered(track), mutations.forged(track)]) {
      const { status, error } = await postTo(receiver, forgery);
      expect({ status, code: error?.code }).toEqual({ status: 401, code: "ERR_SIGNATURE_MISMATCH" });
    }
  });
});

describe.each(behindParsed)("$name", (receiver) => {
  it("verifies the value written again, and says so", async () => {
    const { status, webhook } = await postTo(receiver, track);
    expect(status).toBe(204);
    expect(webhook?.verifiedOver).toBe("json");
    expect(webhook?.message).toEqual(JSON.parse(Buffer.from(track.body).toString()));
    expect(Buffer.from(webhook?.rawBody ?? [])).toEqual(Buffer.from(track.body));
    expect(webhook?.receivedBody).toBeUndefined();
  });

  it("takes no forgery for a message", async () => {
    for (const forgery of [mutations.tampered(track), mutations.forged(track)]) {
      const { status, error } = await postTo(receiver, forgery);
      expect({ status, code: error?.code }).toEqual({ status: 401, code: "ERR_SIGNATURE_MISMATCH" });
      expect(error?.hint).toContain("mount verifyWebhook() before the body parser");
    }
  });

  it("refuses when strict, as the app's own mistake", async () => {
    const { status, error } = await postTo(receiver, track, { strict: true });
    expect({ status, code: error?.code }).toEqual({ status: 500, code: "ERR_BODY_ALREADY_READ" });
  });
});

describe.each([...behindRaw, ...behindParsed])("$name, an empty body", (receiver) => {
  it("is refused as what it is", async () => {
    const { status } = await postTo(receiver, signedRequest("", SECRET));
    expect(status).toBe(400);
  });
});

describe.each(behindNothing)("$name, behind what keeps nothing of the body", (receiver) => {
  it("answers at once that the app is wrong, and tells its operator what to do", async () => {
    const { status, error, webhook } = await postTo(receiver, track);
    expect({ status, code: error?.code }).toEqual({ status: 500, code: "ERR_BODY_ALREADY_READ" });
    expect(error?.hint).toMatch(/before/);
    expect(webhook).toBeUndefined();
  });
});
