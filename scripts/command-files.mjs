// Runs npm, npx and pnpm, which are command files on Windows: only a shell runs those there, and it takes one line.

const COMMAND_FILES = new Set(["npm", "npx", "pnpm"]);

/**
 * What to pass to `spawn()` and its like, so that a program gets these arguments.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {NodeJS.Platform} platform
 * @returns {readonly [command: string, args: readonly string[], options: { readonly shell: boolean }]}
 */
export function spawnArguments(command, args, platform = process.platform) {
  if (platform !== "win32" || !COMMAND_FILES.has(command)) return [command, args, { shell: false }];
  return [[command, ...args.map(quoted)].join(" "), [], { shell: true }];
}

/**
 * An argument on a line of cmd.exe. Quotes and backslashes before them are escaped for the program. What cmd.exe itself reads is
 * escaped twice: it reads the line once, and then the line of the command file with the same arguments.
 *
 * @param {string} text
 */
function quoted(text) {
  if (/^[\w@./:=\\~+-]+$/.test(text)) return text;
  const forProgram = `"${text.replaceAll(/(\\*)"/g, String.raw`$1$1\"`).replace(/\\+$/, "$&$&")}"`;
  return forShell(forShell(forProgram));
}

function forShell(line) {
  return line.replaceAll(/[()\][%!^"`<>&|;, *?]/g, "^$&");
}
