import { asData, resolvingBy } from "../../../../tests/support/resolve-otherwise.ts";

const UNDICI = asData("export class Agent {} export const errors = {};");

/** For `--import`: Bun gives a module of its own to whoever imports undici. Its agents cannot send. */
export const AS_BUN = asData(
  resolvingBy(`(name, context, next) =>
    name === "undici" ? { url: ${JSON.stringify(UNDICI)}, shortCircuit: true } : next(name, context)`),
);
