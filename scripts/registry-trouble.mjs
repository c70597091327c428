// Tells an install that failed since the registry did not answer from one that failed for any other reason.

/** What npm and pnpm print of a registry that did not answer. Both have tried again by then, but not what broke off in between. */
const TROUBLE =
  /\b(?:E(?:AI_AGAIN|CONNABORTED|CONNREFUSED|CONNRESET|IDLETIMEOUT|NOTFOUND|PIPE|TIMEDOUT|429|5\d\d)|ERR_SOCKET_TIMEOUT|ERR_PNPM_(?:META_FETCH_FAIL|BAD_TARBALL_SIZE|FETCH_(?:429|5\d\d)))\b/;

/** How often something is installed at most. */
const TIMES = 3;

/**
 * Installs, and installs again where the registry did not answer.
 *
 * @template T
 * @param {() => Promise<T>} install
 * @param {(outcome: T) => string} problemOf - What it printed if it failed; nothing if it did not.
 * @returns {Promise<T>} the last outcome
 */
export async function withRegistry(install, problemOf) {
  for (let times = 1; ; times += 1) {
    const outcome = await install();
    if (times === TIMES || !TROUBLE.test(problemOf(outcome))) return outcome;
  }
}
