import { createTestSender, type TestSender, type TestSenderOptions } from "@countersign/sender/testing";
import { onTestFinished } from "vitest";

/** A sender that is closed when the test has finished, without waiting for attempts that never end. */
export async function openSender(options: TestSenderOptions): Promise<TestSender> {
  const sender = await createTestSender(options);
  onTestFinished(() => sender.close({ deadline: 0 }));
  return sender;
}
