/** What to pass to `spawn()` and its like, so that a program that may be a command file gets these arguments. */
export function spawnArguments(
  command: string,
  args: readonly string[],
  platform?: NodeJS.Platform,
): readonly [command: string, args: readonly string[], options: { readonly shell: boolean }];
