export { createTestSender } from "./create-test-sender.ts";
export type { TargetOptions, TestSender, TestSenderOptions } from "./create-test-sender.ts";
export { virtualClock, type VirtualClock } from "@countersign/protocol";
export type {
  Expect,
  Expectation,
  Expected,
  ExpectedAttempt,
  ExpectedDelivery,
  ExpectOptions,
  MessagePattern,
  ReceiptLike,
  Searched,
} from "./expect/expect.ts";
export { ExpectationError } from "./expect/expect.ts";
export type {
  FastifyTarget,
  FetchTarget,
  KoaTarget,
  NodeTarget,
  ServerTarget,
  Target,
} from "./target/target.ts";
