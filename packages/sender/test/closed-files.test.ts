import { createSender, sqliteStore } from "@countersign/sender";
import { systemClock } from "@countersign/protocol";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listsOpenFiles, openFilesIn } from "../../../tests/support/open-files.ts";
import { acceptanceOf, quietContext } from "./support/acceptances.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

// What a process has open, Windows neither moves nor removes.
describe.runIf(listsOpenFiles)("no file is open", () => {
  it("of a store that could not be opened, whose file has to be moved away", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "deliveries.db");
    writeFileSync(path, "a diary, not a database\n".repeat(500));
    const starting = createSender({ url: "http://127.0.0.1:9/", store: sqliteStore({ path }) });
    // Kept, as by a log.
    const error: unknown = await starting.catch((error: unknown) => error);
    expect(openFilesIn(folder)).toEqual([]);
    expect(error).toMatchObject({ code: "ERR_STORE_CORRUPT" });
  });

  it("of a store that was closed, while somebody keeps errors of it", async () => {
    const folder = temporaryFolder();
    const store = sqliteStore({ path: join(folder, "deliveries.db") });
    await store.open(quietContext(systemClock()));
    const accept = (id: string) =>
      store.accept(acceptanceOf([{ id, destination: "shop/crm", acceptedAt: Date.now() }]));
    await accept("d1");
    const failing = [
      store.list({ after: "nothing" }),
      store.repeat("d1", { id: "d1", acceptedAt: Date.now() }),
    ];
    const errors = await Promise.all(failing.map((call) => Promise.resolve(call).catch((e: unknown) => e)));
    expect(openFilesIn(folder)).not.toEqual([]);
    await store.close();
    expect(openFilesIn(folder)).toEqual([]);
    expect(errors).toEqual([expect.any(Error), expect.any(Error)]);
  });
});
