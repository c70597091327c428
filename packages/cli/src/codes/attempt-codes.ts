import { noAnswer, NO_ANSWER_CODES } from "@countersign/sender/explain";
import type { CodePage, CodePages } from "./code-page.ts";
import { sh, ts, type Example } from "./example.ts";

const SEE_ATTEMPT = sh(
  "countersign send track --to https://example.com/webhooks --secret dev   # shows what happens",
);
const SEE_CERTIFICATE = sh(
  "openssl s_client -connect example.com:443 -servername example.com -showcerts   # shows the certificates",
);
const TRUST_AUTHORITY = sh(
  "countersign send track --to https://localhost:3000/webhooks --secret dev --ca ca.pem",
);

/** Examples for codes that have a better one than a look at the attempt. */
const EXAMPLES: Readonly<Record<string, Example>> = {
  ECONNREFUSED: sh("curl -i http://localhost:3000/webhooks   # does anything listen?"),
  ENOTFOUND: sh("nslookup example.com"),
  EAI_AGAIN: sh("nslookup example.com"),
  EMFILE: sh("ulimit -n 65536"),
  ERR_WASM_MEMORY: sh(
    "NODE_OPTIONS=--disable-wasm-trap-handler countersign serve --to http://localhost:3000/webhooks",
  ),
  ERR_TIMEOUT: ts("await queue.add(req.body);\nres.sendStatus(204);"),
  ERR_ADDRESS_BLOCKED: sh(
    "countersign serve --to http://10.0.0.5:3000/webhooks   # without --block-private-networks",
  ),
  ERR_PROXY: sh("curl -i --proxytunnel --proxy http://proxy.example:3128 https://example.com/webhooks"),
  ERR_INVALID_CA: TRUST_AUTHORITY,
  DEPTH_ZERO_SELF_SIGNED_CERT: TRUST_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: TRUST_AUTHORITY,
};

function pageOf(code: string): CodePage {
  const { cause, fix } = noAnswer(code, "network");
  const isCertificate = /CERT|INVALID_PURPOSE|LEAF|ISSUER/.test(code);
  return { cause, fix, ...(EXAMPLES[code] ?? (isCertificate ? SEE_CERTIFICATE : SEE_ATTEMPT)) };
}

/** `code` of an attempt without an answer. `@countersign/sender/explain` has the text of each. */
export const ATTEMPT_CODES: CodePages = Object.fromEntries(
  Object.keys(NO_ANSWER_CODES).map((code) => [code, pageOf(code)]),
);

/** The page of a code that is not listed, of a family of OpenSSL or of Node's HTTP parser; `undefined` if it is of none. */
export function familyPage(code: string): CodePage | undefined {
  return noAnswer(code, "network") === NO_ANSWER_CODES["ERR_UNKNOWN"] ? undefined : pageOf(code);
}
