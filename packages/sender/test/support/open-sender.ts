import type { DeliveryStore } from "@countersign/sender/store";
import { createTestSender, type TestSender, type TestSenderOptions } from "@countersign/sender/testing";
import { onTestFinished } from "vitest";

/** What a module that `COUNTERSIGN_TEST_STORE` names exports. */
interface TestStoreModule {
  /** Makes an empty store of a test, and what it needs: it ends with the test. */
  readonly createTestStore: () => DeliveryStore | Promise<DeliveryStore>;
}

/**
 * A sender that is closed when the test has finished, without waiting for attempts that never end.
 *
 * Tests that do not ask for a store of their own run on the one that the module in `COUNTERSIGN_TEST_STORE` makes, if there
 * is one: so the tests of the sender run on another store.
 */
export async function openSender(options: TestSenderOptions): Promise<TestSender> {
  const sender = await createTestSender({ ...options, store: options.store ?? (await testStore()) });
  onTestFinished(() => sender.close({ deadline: 0 }));
  return sender;
}

/** An empty store of the kind that is under test; undefined for the sender's own. */
async function testStore(): Promise<DeliveryStore | undefined> {
  const module = process.env["COUNTERSIGN_TEST_STORE"];
  if (module === undefined || module === "") return undefined;
  const { createTestStore } = (await import(module)) as TestStoreModule;
  return createTestStore();
}
