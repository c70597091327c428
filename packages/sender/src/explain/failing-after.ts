/** How many attempts in a row fail before an endpoint counts as failing. Default of the option `failingAfter`. */
export const FAILING_AFTER = 5;
