import { expect, it } from "vitest";
import { testingOperations } from "../../src/api/testing-operations.ts";
import { FaultList } from "../../src/live/fault-list.ts";

it("a fault is refused while a thousand are active, since those that never strike end by nothing else", async () => {
  const inject = testingOperations.find(({ method, path }) => method === "POST" && path === "/faults");
  const transport = { inject: () => ({ remaining: 1, struck: 0, cancel() {} }) };
  const faults = new FaultList(transport, () => {});
  const post = async (): Promise<unknown> =>
    inject?.handle({ faults } as never, { body: { fault: "reset", times: 1, messageId: "none" } } as never);
  for (let n = 0; n < 1_000; n += 1) await post();
  await expect(post()).rejects.toMatchObject({
    status: 409,
    message: "1000 faults are active. Cancel those that are not needed, with DELETE /api/faults/{id}.",
  });
  expect(faults.cancel(1)).toBe(true);
  await post();
  expect(faults.active()).toHaveLength(1_000);
});
