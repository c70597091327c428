import { messageOf } from "@countersign/protocol";
import { SettingsChangedError, SettingsError, type SenderSettings } from "@countersign/sender";
import type { ApiContext, OperationInput } from "./operation.ts";
import { stale } from "./preconditions.ts";
import { Problem, settingsProblem } from "./problem.ts";

interface Change {
  readonly next: SenderSettings;
  /** The source that it is about. */
  readonly source: string;
  readonly removed?: true;
  /** Where in the settings the body stands. */
  readonly prefix?: string;
}

/** Puts settings in force and saves them. If they cannot be saved, the old ones stay in force. */
export async function change(
  context: ApiContext,
  { reply }: OperationInput,
  { next, source, removed, prefix = "" }: Change,
): Promise<void> {
  const { sender, events, book } = context;
  try {
    if (book.inStore) await sender.update(next);
    else configureAndSave(context, next);
  } catch (error) {
    if (error instanceof SettingsChangedError) throw stale();
    throw error instanceof SettingsError ? settingsProblem(error, prefix) : error;
  }
  const etag = tellETag(context, reply);
  events.tell({ event: "settings", etag, source, ...(removed && { removed }) });
}

/** In one turn, so that no other change comes in between. */
function configureAndSave({ sender, book, versions }: ApiContext, next: SenderSettings): void {
  const before = sender.settings;
  sender.configure(next);
  try {
    book.save(sender.settings.sources);
  } catch (error) {
    sender.configure(before);
    versions.putBack(sender, before);
    throw new Problem(503, messageOf(error));
  }
}

/** Answers with the ETag of the settings in force. */
export function tellETag({ sender, versions }: ApiContext, reply: OperationInput["reply"]): string {
  const etag = versions.etagOf(sender);
  reply.header("etag", etag);
  return etag;
}
