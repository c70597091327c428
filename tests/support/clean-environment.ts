// What a user has set for other programs, and tests or the processes that they start would follow. `COUNTERSIGN_TEST_…`, POSTGRES_URL,
// POSTGRES_BIN and REDIS_URL are meant for the tests. TZ stays: whoever sets it wants the tests in that time zone.
const OF_OTHERS = [
  // Options of Node, and of what colours or logs.
  /^(NODE_OPTIONS|NODE_DEBUG|NODE_NO_WARNINGS|NODE_USE_ENV_PROXY|NODE_TLS_REJECT_UNAUTHORIZED|DEBUG)$/,
  /^(FORCE_COLOR|NO_COLOR|COLUMNS|LINES)$/,
  // What the command, the examples and the receivers in the documents read.
  /^COUNTERSIGN_(?!TEST_|WHOLE_SENDER$|PICTURES$)/,
  /^(HOST|PORT|RECEIVER_PORT|WEBHOOK_SECRET|WRITE_KEY|TENANT_SECRETS|DATABASE_URL)$/,
  // The defaults of every client of PostgreSQL.
  /^PG[A-Z]+$/,
];

const LOOPBACK = ["localhost", "127.0.0.1", "::1"];

/**
 * Removes the variables of other programs from an environment. A proxy stays for the registry, and is not asked for what listens on
 * this machine.
 */
export function cleanEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(env)) if (OF_OTHERS.some((pattern) => pattern.test(name))) delete env[name];
  if (!Object.keys(env).some((name) => /^(https?|all)_proxy$/i.test(name))) return;
  const given = (env["no_proxy"] ?? env["NO_PROXY"] ?? "").split(",").filter((host) => host !== "");
  // Once, though each project of Vitest does this.
  const exceptions = [...new Set([...given, ...LOOPBACK])].join(",");
  // Which of the two is read differs.
  Object.assign(env, { no_proxy: exceptions, NO_PROXY: exceptions });
}
