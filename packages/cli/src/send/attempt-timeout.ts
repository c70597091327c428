/** How long a receiver has to answer, in milliseconds: as long as the sender waits by default. */
export const ATTEMPT_TIMEOUT_MS = 5_000;
