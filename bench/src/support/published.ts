import { installPublishable } from "../../../scripts/publishable.mjs";
import { withTemporaryFolder } from "./temporary-folder.ts";

/** Runs `action` with a folder in which our packages are installed as they are published. */
export function withPublished<T>(action: (folder: string) => Promise<T>): Promise<T> {
  return withTemporaryFolder(async (folder) => {
    await installPublishable(folder);
    return action(folder);
  });
}
