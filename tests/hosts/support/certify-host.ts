import { describe, expect, inject, it, onTestFinished } from "vitest";
import { commandsIn, readPage, type Block } from "./page.ts";
import {
  DEFAULT_MANAGERS,
  createProject,
  follow,
  NODE_TYPES,
  type Manager,
  type Project,
} from "./project.ts";
import { cleanEnvironment, runToStatus, type Running } from "./run.ts";
import { freePort } from "../../support/free-port.ts";

/** How a host is tried. */
export interface Host {
  /** The page that is followed, from the root of the repository. */
  readonly page: string;
  /** What the reader chooses on it. */
  readonly framework?: string;
  /** What there is before, as install lines: an app of the framework. */
  readonly present?: readonly string[];
  /** Install lines after those of the page: other versions of what it installs. */
  readonly instead?: readonly string[];
  /** Blocks of the page that are for another variant of the host. */
  readonly isOther?: (block: Block) => boolean;
  /** What the variant changes in the page's code. */
  readonly change?: (code: string) => string;
  /** Environment of the app. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Starts the receiver. Default: compiles the page's code and runs this line. */
  readonly start: string | ((project: Project, port: number) => Promise<Running>);
  /** Runs the test that the page shows. */
  readonly test?: string;
  /** Audits that the host's own parser fails before the receiver is asked. Default: none. */
  readonly failing?: readonly string[];
  /** With which package managers. Default: `DEFAULT_MANAGERS`. */
  readonly managers?: readonly Manager[];
}

/**
 * Installs the packed packages into an empty project, follows a page word by word but for its port, and
 * audits the receiver by the page's own command.
 */
export function certifyHost(name: string, host: Host): void {
  describe.each([name])("%s", () => {
    it.each(host.managers ?? DEFAULT_MANAGERS)(
      `is certified by ${host.page}, installed with %s`,
      async (manager) => {
        const port = await freePort();
        const withPort = (text: string): string => text.replaceAll("3000", String(port));
        const project = await createProject(manager, NODE_TYPES);
        const blocks = readPage(host.page, host.framework).filter((block) => host.isOther?.(block) !== true);
        for (const line of host.present ?? []) await project.run(line);
        const change = host.change ?? ((code: string): string => code);
        await follow(project, blocks, (code) => withPort(change(code)));
        for (const line of host.instead ?? []) await project.run(line);
        const running = await startHost(host, project, port);
        onTestFinished(() => running.stop());
        if (host.test !== undefined) await project.run(host.test);
        const command = commandsIn(blocks).find((line) => line.startsWith("npx countersign certify "));
        expect(command).toBeDefined();
        await expectCertified(withPort(command ?? ""), running, host.failing);
      },
    );
  });
}

async function startHost(
  { start, environment = {} }: Host,
  project: Project,
  port: number,
): Promise<Running> {
  if (typeof start === "function") return start(project, port);
  await project.compile();
  return project.start(start, port, environment);
}

/** Every audit passes but those that are named, which fail. */
export async function expectCertified(
  command: string,
  running: Running,
  failing: readonly string[] = [],
): Promise<void> {
  const { status, printed } = await runToStatus(command, {
    folder: inject("command"),
    environment: cleanEnvironment(inject("work")),
  });
  const failed = [...printed.matchAll(/^✗ \w+ .*? \(([a-z0-9-]+)\)/gm)].map(([, id = ""]) => id);
  const isRight = failed.toSorted().join() === failing.toSorted().join() && /^MUST \d+ of \d+/m.test(printed);
  const shown = `${command}\nended with ${status}:\n${printed}\nThe receiver printed:\n${running.printed().slice(-4_000)}`;
  expect(isRight ? "" : shown).toBe("");
  if (failing.length === 0) expect(status).toBe(0);
}
