import { isObject } from "@countersign/protocol";

const BASIC = /^basic\s+([A-Za-z0-9+/_-]+={0,2})$/i;

/**
 * The write key of a request: the user name of Basic authorization (the colon may be missing), otherwise `writeKey` of
 * the body, which is also where it is if the header is a Bearer token.
 *
 * @param isKey Whether a source has this write key. A key with a colon cannot be told from a key and a password, so what stands
 *   before the colon at the end is taken for one if it is one.
 */
export function readWriteKey(
  authorization: string | undefined,
  body: unknown,
  isKey: (text: string) => boolean,
): string | undefined {
  const encoded = BASIC.exec(authorization?.trim() ?? "")?.[1];
  const fromHeader = encoded && userNameOf(Buffer.from(encoded, "base64").toString("utf8"), isKey);
  if (fromHeader) return fromHeader;
  const fromBody = isObject(body) ? body["writeKey"] : undefined;
  return typeof fromBody === "string" && fromBody !== "" ? fromBody : undefined;
}

function userNameOf(credentials: string, isKey: (text: string) => boolean): string | undefined {
  const whole = credentials.replace(/:$/, "");
  return isKey(whole) ? whole : whole.split(":", 1)[0];
}
