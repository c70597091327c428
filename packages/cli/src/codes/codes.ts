import { nearestName } from "@countersign/protocol";
import { ATTEMPT_CODES, familyPage } from "./attempt-codes.ts";
import { CLIENT_CODES } from "./client-codes.ts";
import type { CodePage, CodePages } from "./code-page.ts";
import { REJECTION_CODES, REQUEST_CODES } from "./ingestion-codes.ts";
import { DIAGNOSIS_CODES, RECEIVER_CODES, WARNING_CODES } from "./receiver-codes.ts";
import {
  CALL_CODES,
  CERTIFY_CODES,
  EXPECTATION_CODES,
  OUTCOME_CODES,
  SENDER_CODES,
  SERVER_CODES,
  SKIP_CODES,
  STORE_CODES,
} from "./sending-codes.ts";

/** Codes that belong together. */
export interface CodeGroup {
  /** Where such a code appears, as the end of a sentence. */
  readonly where: string;
  readonly pages: CodePages;
}

const NO_ANSWER = "why an attempt got no answer: its `code`";

/** Every code, by where it appears. */
export const CODE_GROUPS: readonly CodeGroup[] = [
  { where: "why a receiver rejects a request: `code` of a WebhookError", pages: RECEIVER_CODES },
  { where: "why a signature does not match: `code` of a Diagnosis", pages: DIAGNOSIS_CODES },
  { where: "why a receiver or a sender emits a warning: `code` of a process warning", pages: WARNING_CODES },
  { where: "how an attempt ended: its `outcome`", pages: OUTCOME_CODES },
  { where: NO_ANSWER, pages: ATTEMPT_CODES },
  { where: "why a call is not accepted: `code` of a CallError", pages: CALL_CODES },
  { where: "why an accepted call is not forwarded: `skipped` of its receipt", pages: SKIP_CODES },
  { where: "why an operation of a sender fails: `code` of its error", pages: SENDER_CODES },
  { where: "why an expectation of a test fails: `code` of an ExpectationError", pages: EXPECTATION_CODES },
  { where: "why a store fails: `code` of a StoreError", pages: STORE_CODES },
  { where: "why the server cannot start: `code` of a ServerError", pages: SERVER_CODES },
  { where: "why certify cannot start: `code` of its error", pages: CERTIFY_CODES },
  { where: "why the server does not forward a message: `reason` of a rejection", pages: REJECTION_CODES },
  { where: "why the server refuses a request: `code` of its answer", pages: REQUEST_CODES },
  { where: "why the client has not delivered a call: `reason` of its outcome", pages: CLIENT_CODES },
];

/** A code that was found. */
export interface FoundCode extends CodePage {
  readonly code: string;
  /** Where such a code appears. */
  readonly where: string;
}

/** The page of a code, however its letters are written, and also without `ERR_`; `undefined` if there is none. */
export function findCode(text: string): FoundCode | undefined {
  const wanted = [text, `ERR_${text}`].map((name) => name.toLowerCase());
  for (const name of wanted) {
    for (const { where, pages } of CODE_GROUPS) {
      const [code, page] = Object.entries(pages).find(([one]) => one.toLowerCase() === name) ?? [];
      if (code !== undefined && page !== undefined) return { code, where, ...page };
    }
  }
  const code = text.toUpperCase();
  const page = familyPage(code);
  return page && { code, where: NO_ANSWER, ...page };
}

/** The code that was probably meant. */
export function nearestCode(text: string): string | undefined {
  const codes = CODE_GROUPS.flatMap(({ pages }) => Object.keys(pages));
  const lowerCase = codes.map((code) => code.toLowerCase());
  const found = nearestName(text.toLowerCase(), lowerCase);
  return found === undefined ? undefined : codes[lowerCase.indexOf(found)];
}
