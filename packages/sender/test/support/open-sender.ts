import type { DeliveryStore } from "@countersign/sender/store";
import { createTestSender, type TestSender, type TestSenderOptions } from "@countersign/sender/testing";
import { onTestFinished } from "vitest";

/** What a module that `COUNTERSIGN_TEST_STORE` names exports. */
interface TestStoreModule {
  /** Makes an empty store of a test, and what it needs: it ends with the test. */
  readonly createTestStore: () => DeliveryStore | Promise<DeliveryStore>;
  /** Whether a process whose clock differs from that of the store accepts and delivers nothing, by design. */
  readonly COMPARES_CLOCKS?: boolean;
  /** How long closing it may take, in milliseconds: a store across a network takes round trips. Default: 0. */
  readonly CLOSE_MS?: number;
}

const underTest = await testStoreModule();

/** Whether the store under test compares the process's clock with its own. */
export const comparesClocks: boolean = underTest?.COMPARES_CLOCKS ?? false;

/**
 * A sender that is closed when the test has finished, without waiting for attempts that never end.
 *
 * Tests that do not ask for a store of their own run on the one that the module in `COUNTERSIGN_TEST_STORE` makes, if there
 * is one: so the tests of the sender run on another store.
 */
export async function openSender(options: TestSenderOptions): Promise<TestSender> {
  const store = options.store ?? (await underTest?.createTestStore());
  const sender = await createTestSender({ ...options, store });
  const deadline = options.store === undefined ? (underTest?.CLOSE_MS ?? 0) : 0;
  onTestFinished(() => sender.close({ deadline }));
  return sender;
}

/** What makes the store under test; undefined for the sender's own. */
async function testStoreModule(): Promise<TestStoreModule | undefined> {
  const module = process.env["COUNTERSIGN_TEST_STORE"];
  if (module === undefined || module === "") return undefined;
  return (await import(module)) as TestStoreModule;
}
