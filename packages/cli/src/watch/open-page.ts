import { spawn } from "node:child_process";

/**
 * Opens a URL in the browser of this machine.
 *
 * @returns Whether a program was found that takes it and did not fail at once.
 */
export function openPage(url: string, platform: NodeJS.Platform = process.platform): Promise<boolean> {
  const [command, ...args] = COMMANDS[platform] ?? ["xdg-open"];
  return new Promise((resolve) => {
    const child = spawn(command ?? "xdg-open", [...args, url], { stdio: "ignore", detached: true });
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
    // The browser may be what was started, and then runs on.
    child.unref();
    setTimeout(() => resolve(true), STARTED_MS).unref();
  });
}

const STARTED_MS = 3_000;
const COMMANDS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};
