import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { canTrace } from "./support/traced-disk.ts";

const why = canTrace() ? "" : " (skipped: this machine has no strace that may trace)";

/** What the error of a store says whose system calls fail as where a quota is used up. */
function refusalOf(calls: string, path: string, traced: readonly string[]): string {
  const script = `
    import { createSender, sqliteStore } from ${JSON.stringify(import.meta.resolve("@countersign/sender"))};
    const store = sqliteStore({ path: ${JSON.stringify(path)} });
    await createSender({ url: "http://127.0.0.1:9/", store }).catch((error) => console.log(error.message));
    process.exit();`;
  const paths = traced.flatMap((one) => ["-P", one]);
  const strace = ["-f", "-qq", "-o", "/dev/null", ...paths, "-e", `trace=${calls}`];
  const failing = ["-e", `inject=${calls}:error=EDQUOT`];
  const command = [...strace, ...failing, process.execPath, "--input-type=module", "-e", script];
  return execFileSync("strace", command, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}

it.skipIf(!canTrace())(`a quota that is used up is named where a store cannot make its folder${why}`, () => {
  const folder = join(temporaryFolder(), "data");
  const message = refusalOf("?mkdir,mkdirat", join(folder, "deliveries.db"), [folder]);
  expect(message).toContain(`(EDQUOT: disk quota exceeded, mkdir '${folder}')`);
});

it.skipIf(!canTrace())(`a quota is told of where a store cannot write${why}`, () => {
  const path = join(temporaryFolder(), "deliveries.db");
  const message = refusalOf("pwrite64", path, [path, `${path}-wal`]);
  expect(message).toContain("it may be full or failing, or there is a quota");
});
