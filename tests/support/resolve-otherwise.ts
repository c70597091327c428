/** Code as a module that needs no file. */
export function asData(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

/**
 * Code that has Node resolve modules otherwise, for a module of `--import`.
 *
 * Node 26 prints a warning of `register`, and versions before 22.15 have nothing else.
 *
 * @param resolve - The source of the hook: a function of the name, the context and the next hook.
 */
export function resolvingBy(resolve: string): string {
  return `
    import * as module from "node:module";
    if (module.registerHooks) module.registerHooks({ resolve: ${resolve} });
    else module.register(${JSON.stringify(asData(`export const resolve = ${resolve};`))});`;
}
