import { createSender, type Sender, type SenderOptions } from "@countersign/sender";
import { onTestFinished } from "vitest";

/** A sender that is closed when the test has finished, without waiting for attempts that never end. */
export async function openSender(options: SenderOptions): Promise<Sender> {
  const sender = await createSender(options);
  onTestFinished(() => sender.close({ deadline: 0 }));
  return sender;
}
