import { isObject } from "@countersign/protocol";

const BASIC = /^basic\s+([A-Za-z0-9+/_-]+={0,2})$/i;

/**
 * The write key of a request: the user name of Basic authorization (the colon may be missing), otherwise `writeKey` of
 * the body, which is also where it is if the header is a Bearer token.
 */
export function readWriteKey(authorization: string | undefined, body: unknown): string | undefined {
  const encoded = BASIC.exec(authorization?.trim() ?? "")?.[1];
  const fromHeader = encoded && Buffer.from(encoded, "base64").toString("utf8").split(":", 1)[0];
  if (fromHeader) return fromHeader;
  const fromBody = isObject(body) ? body["writeKey"] : undefined;
  return typeof fromBody === "string" && fromBody !== "" ? fromBody : undefined;
}
