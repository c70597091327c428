import { Buffer } from "node:buffer";
import { readStream } from "@countersign/core/web";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";

const MAX_BYTES = 1_000;

function streamOf(chunks: readonly Uint8Array[], cancel: () => void = () => {}): ReadableStream<Uint8Array> {
  const rest = [...chunks];
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = rest.shift();
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
    cancel,
  });
}

describe("readStream", () => {
  it("gives the exact bytes, however they are cut, up to the limit and no byte beyond", async () => {
    const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(chunks, async (chunks) => {
        const whole = Buffer.concat(chunks);
        const read = readStream(streamOf(chunks), { maxBytes: MAX_BYTES });
        if (whole.length > MAX_BYTES) {
          await expect(read).rejects.toMatchObject({ code: "ERR_BODY_TOO_LARGE" });
        } else {
          expect(Buffer.from(await read).equals(whole)).toBe(true);
        }
      }),
    );
  });

  it("makes a few buffers for a body in one-byte chunks: one for each would copy 500 GB for 1 MiB", async () => {
    const made = vi.fn<(size: unknown) => void>();
    const counting = new Proxy(Uint8Array, {
      construct(target, args) {
        made(args[0]);
        return Reflect.construct(target, args) as Uint8Array;
      },
    });
    const byte = Uint8Array.of(0x61);
    const stream = streamOf(Array.from({ length: 20_000 }, () => byte));
    vi.stubGlobal("Uint8Array", counting);
    onTestFinished(() => void vi.unstubAllGlobals());
    const bytes = await readStream(stream, { maxBytes: 1_048_576 });
    vi.unstubAllGlobals();
    expect(Buffer.from(bytes).equals(Buffer.alloc(20_000, "a"))).toBe(true);
    expect(made.mock.calls.length).toBeLessThan(10);
  });

  it("takes a body of exactly the limit, in several chunks, and none of a byte more", async () => {
    const read = (last: number): Promise<Uint8Array> =>
      readStream(streamOf([new Uint8Array(600), new Uint8Array(last)]), { maxBytes: MAX_BYTES });
    expect(await read(400)).toHaveLength(MAX_BYTES);
    await expect(read(401)).rejects.toMatchObject({ code: "ERR_BODY_TOO_LARGE" });
  });

  it("cancels the rest of a body beyond the limit", async () => {
    const cancel = vi.fn<() => void>();
    const stream = streamOf([new Uint8Array(600), new Uint8Array(600), new Uint8Array(600)], cancel);
    await expect(readStream(stream, { maxBytes: MAX_BYTES })).rejects.toMatchObject({
      code: "ERR_BODY_TOO_LARGE",
    });
    expect(cancel).toHaveBeenCalledOnce();
  });

  it("names what broke the stream", async () => {
    const cause = new Error("connection reset");
    const stream = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(cause) });
    await expect(readStream(stream, { maxBytes: MAX_BYTES })).rejects.toMatchObject({
      code: "ERR_BODY_ABORTED",
      cause,
    });
  });

  it("does not wait for a stream that something else holds", async () => {
    const stream = streamOf([]);
    stream.getReader();
    await expect(readStream(stream, { maxBytes: MAX_BYTES })).rejects.toMatchObject({
      code: "ERR_BODY_ALREADY_READ",
    });
  });
});
