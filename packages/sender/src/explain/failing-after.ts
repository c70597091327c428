/** How many attempts at an endpoint fail in a row until it counts as failing, unless a sender sets `failingAfter`. */
export const FAILING_AFTER = 5;
