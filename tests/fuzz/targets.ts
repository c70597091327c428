import { bodyReaderTargets } from "./body-readers.ts";
import type { FuzzTarget } from "./harness.ts";
import { ingestionTargets } from "./ingestion.ts";
import { messageTargets } from "./messages.ts";
import { senderTargets } from "./sender-rules.ts";
import { timeTargets } from "./times.ts";
import { verificationTargets } from "./verification.ts";

/** The table of what is fuzzed. The shares add up to 1,000. */
export const targets: readonly FuzzTarget[] = [
  ...verificationTargets,
  ...messageTargets,
  ...bodyReaderTargets,
  ...senderTargets,
  ...ingestionTargets,
  ...timeTargets,
];
