/** How long an endpoint may take to respond, in milliseconds (spec 8). Default of the option `attemptTimeout`. */
export const ATTEMPT_TIMEOUT_MS = 5_000;
