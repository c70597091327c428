const asData = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;

const UNDICI = asData("export class Agent {} export const errors = {};");

const RESOLVE = `(name, context, next) =>
  name === "undici" ? { url: ${JSON.stringify(UNDICI)}, shortCircuit: true } : next(name, context)`;

/**
 * For `--import`: Bun gives a module of its own to whoever imports undici. Its agents cannot send.
 *
 * Node 26 prints a warning of `register`, and versions before 22.15 have nothing else.
 */
export const AS_BUN = asData(`
  import * as module from "node:module";
  if (module.registerHooks) module.registerHooks({ resolve: ${RESOLVE} });
  else module.register(${JSON.stringify(asData(`export const resolve = ${RESOLVE};`))});`);
