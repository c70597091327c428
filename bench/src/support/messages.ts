import { sampleMessages, signedRequest } from "@countersign/core/testing";

/** The secret of every bench. */
export const SECRET = "a shared secret of usual length";

/** A signed track message. */
export interface SignedMessage {
  readonly body: Buffer;
  readonly signature: string;
}

/** Properties that make the JSON of a track message about so many bytes long: items of a usual order. */
function itemsOf(bytes: number): object[] {
  const items: object[] = [];
  let length = 0;
  for (let index = 0; ; index += 1) {
    const item = { sku: `sku-${index}`, price: 9.5 + index, name: "Something that was bought" };
    length += JSON.stringify(item).length + 1;
    if (length > bytes) return items;
    items.push(item);
  }
}

/** A track message whose body has exactly so many bytes, 220 at least. */
export function signedMessage(bytes: number): SignedMessage {
  const { context: _, ...message } = sampleMessages.track;
  const of = (properties: object): Buffer =>
    Buffer.from(signedRequest({ ...message, properties }, SECRET).body);
  const shortest = of({ items: [], note: "" }).length;
  const items = itemsOf(Math.max(bytes - shortest, 0) * 0.9);
  const missing = bytes - of({ items, note: "" }).length;
  if (missing < 0) throw new RangeError(`A track message has at least ${shortest} bytes, not ${bytes}.`);
  const properties = { items, note: "x".repeat(missing) };
  const request = signedRequest({ ...message, properties }, SECRET);
  return { body: Buffer.from(request.body), signature: request.headers["x-signature"] as string };
}
