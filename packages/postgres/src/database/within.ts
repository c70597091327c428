import { NoAnswerError } from "./postgres-error.ts";

/**
 * A command without an answer after this time drops its connection, in milliseconds. A caller waits no longer for everything: for
 * those before it, for a connection, and for the answer, unless others get answers meanwhile.
 */
export const ANSWER_MS = 5_000;

/** So soon afterwards it has ended on the server, too, in milliseconds. */
export const ENDS_WITHIN_MS = 500;

/**
 * What a promise resolves to, if it does so in time.
 *
 * @param late Makes the error otherwise. It is made only then: the stack of an error costs as much as sending a command.
 */
export function within<T>(ms: number, promise: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms);
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/**
 * What a command answers, if it does so in time.
 *
 * @param ms The time, which may be less where its caller has waited already.
 * @throws NoAnswerError otherwise
 */
export function answered<T>(answer: Promise<T>, ms: number = ANSWER_MS): Promise<T> {
  return within(ms, answer, () => new NoAnswerError(`no answer within ${Math.ceil(ms / 1_000)} s`));
}
