import type { SignedRequest } from "@countersign/core/testing";
import request, { type Response } from "supertest";

/** Sends an ordinary request, and gives the answer whatever its status. Each has a connection of its own. */
export async function post(
  url: string,
  {
    headers,
    body,
  }: { readonly headers: Readonly<Record<string, string>>; readonly body: SignedRequest["body"] | string },
): Promise<Response> {
  const { origin, pathname } = new URL(url);
  return (
    request(origin)
      .post(pathname)
      .set(headers)
      // Bytes go out as they are, where SuperAgent would write them as JSON.
      .serialize((bytes: unknown) => bytes as string)
      .send(typeof body === "string" ? body : Buffer.from(body))
  );
}
