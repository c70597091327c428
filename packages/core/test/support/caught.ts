/** What a function throws. A function that throws nothing is an error of its own, so that no test passes on it. */
export function caught(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("Nothing was thrown.");
}
