// Run by unclosed.test.ts under node --test: none of these tests closes its sender.
import { test } from "node:test";
import { createTestSender } from "@countersign/sender/testing";

const { MODE } = process.env;

void test(MODE, async () => {
  if (MODE === "fails") {
    const sender = await createTestSender({ target: (_request, response) => response.writeHead(401).end() });
    await sender.expect(await sender.track({ userId: "u1", event: "Signed Up" })).delivered();
  }
  if (MODE === "waits") {
    const retry = { firstDelayMs: 50, maxDelayMs: 50 };
    let requests = 0;
    const target = (_request, response) => response.writeHead((requests += 1) % 2 === 1 ? 503 : 204).end();
    const sender = await createTestSender({ target, retry });
    const receipt = await sender.track({ userId: "u1", event: "First" });
    await receipt.settled();
    await sender.track({ userId: "u1", event: "Second" });
    await sender.idle();
    await sender.expect(await sender.track({ userId: "u1", event: "Third" })).delivered();
    process.stdout.write("waited to the end\n");
  }
  if (MODE === "retries") {
    const sender = await createTestSender({ target: (_request, response) => response.writeHead(503).end() });
    await sender.expect(await sender.track({ userId: "u1", event: "Signed Up" })).attempts(1);
  }
});
