/** The body of a request as JSON can hold it. */
export interface BodyText {
  readonly body: string;
  /** Where text would not preserve its bytes. */
  readonly bodyBase64?: string;
}

/** A body as text, and in base64 where text would not preserve its bytes. */
export function bodyText(bytes: Uint8Array): BodyText {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const body = buffer.toString("utf8");
  return Buffer.from(body, "utf8").equals(buffer)
    ? { body }
    : { body, bodyBase64: buffer.toString("base64") };
}
