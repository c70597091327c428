const asData = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;

/** For `--import`: Bun gives a module of its own to whoever imports undici. Its agents cannot send. */
export const AS_BUN = asData(`
  import { register } from "node:module";
  register(${JSON.stringify(
    asData(`
      const url = ${JSON.stringify(asData("export class Agent {} export const errors = {};"))};
      export const resolve = (name, context, next) =>
        name === "undici" ? { url, shortCircuit: true } : next(name, context);`),
  )});`);
