import { setImmediate } from "node:timers";

/**
 * Says which functions fake timers have replaced that Node needs for a connection: what is passed to these waits, too. Undefined: none.
 */
export async function replacedTurns(): Promise<string | undefined> {
  const waiting = new Set(["process.nextTick", "queueMicrotask"]);
  process.nextTick(() => void waiting.delete("process.nextTick"));
  queueMicrotask(() => void waiting.delete("queueMicrotask"));
  // After both, if they are Node's own.
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
  if (waiting.size === 0) return undefined;
  return `Fake timers have replaced ${[...waiting].join(" and ")}, without which Node opens no connection. Keep both: jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask"] }), or toNotFake in Sinon and Vitest.`;
}
