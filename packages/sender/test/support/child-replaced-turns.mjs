// Replaces what fake timers of Jest and Sinon do, and prints what two senders then fail with. Its process needs them, too: it can only exit.
import { writeSync } from "node:fs";
import { createTestSender } from "@countersign/sender/testing";

const target = (_, response) => response.end();
const sender = await createTestSender({ target });
process.nextTick = () => {};
globalThis.queueMicrotask = () => {};
const created = await createTestSender({ target }).catch(String);
const expected = await sender.expect({ event: "Signed Up" }, { within: 50 }).delivered().catch(String);
writeSync(1, JSON.stringify({ created, expected }));
process.exit();
