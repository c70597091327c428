import { announce } from "../../data/announce.ts";
import { ApiError, call, type FieldError } from "../../data/api.ts";
import { loadSources } from "../../data/app-state.ts";
import type { Source } from "../../shapes/settings.ts";
import { bodyOf, type Draft } from "./draft.ts";

/** What became of a change of the settings. */
export interface Outcome {
  readonly error: string;
  readonly errors: readonly FieldError[];
  /** Somebody else has changed the settings since the form was opened. */
  readonly isStale?: boolean;
  readonly note?: string | undefined;
  readonly isSaved?: boolean;
}

/** Nothing was changed yet. */
export const NOTHING: Outcome = { error: "", errors: [] };

/** What is told of a change that failed. */
export function failureOf(error: unknown): Outcome {
  if (!(error instanceof ApiError)) return { ...NOTHING, error: String(error) };
  if (error.status === 412) return { ...NOTHING, isStale: true };
  return { error: error.errors.length > 0 ? "" : error.message, errors: error.errors };
}

/** Saves a source; the version of the settings after it. */
export async function saveSource({ source, writeKey }: Draft, version?: string): Promise<string | undefined> {
  const body = writeKey ? { writeKey } : {};
  return (await call("PUT", pathOf(source), { body, ifMatch: version })).etag;
}

/** Saves a destination; the version of the settings after it, and what the server notes. */
export async function saveDestination(
  draft: Draft,
  version?: string,
): Promise<{ readonly version: string | undefined; readonly note: string | undefined }> {
  const path = pathOf(draft.source, draft.name);
  const { data, etag } = await call<Source>("PUT", path, { body: bodyOf(draft), ifMatch: version });
  return { version: etag, note: data.note };
}

/** Removes a destination, or a source with all that it has, and tells of it. */
export async function removeSettings(
  version: string | undefined,
  source: string,
  destination?: string,
): Promise<void> {
  await call("DELETE", pathOf(source, destination), { ifMatch: version });
  await loadSources();
  announce("Removed.");
}

function pathOf(source: string, destination?: string): string {
  const path = `/sources/${encodeURIComponent(source)}`;
  return destination === undefined ? path : `${path}/destinations/${encodeURIComponent(destination)}`;
}
