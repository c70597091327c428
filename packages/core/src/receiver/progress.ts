import type { ReadBody } from "../verification/verify-webhook.ts";

/** The facts about a request so far. The hooks get it, whichever check rejects the request. */
export interface Progress {
  readonly header: string | undefined;
  signature?: string;
  secrets?: readonly string[];
  /** Set where a secret function found the secrets: the tenant it named, if it did. */
  tenant?: { readonly name: string | undefined };
  body?: ReadBody;
}
