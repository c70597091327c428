import { createHash } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { isObject, messageOf, parseJson } from "@countersign/protocol";
import { replaceFile } from "@countersign/server/files";
import type { Place } from "../input/read-lines.ts";
import { UsageError } from "../errors/usage-error.ts";

/** The position of an import. Calls up to `place` need no second attempt. */
export interface ImportProgress {
  /** The server that the calls went to. */
  readonly server: string;
  readonly place: Place;
  readonly delivered: number;
  readonly rejected: number;
  /** Whether the whole file was imported. */
  readonly done: boolean;
}

/** What the first bytes of a file are, to recognise it. */
interface Fingerprint {
  readonly bytes: number;
  readonly sha256: string;
}

const FINGERPRINT_BYTES = 65_536;

/** Stores the position of an import, in a file beside the imported one. */
export interface ProgressFile {
  /** What an earlier run has left; `undefined` if there was none. */
  readonly earlier: ImportProgress | undefined;
  /** Stores the progress. It is replaced as a whole, so that a kill leaves the old or the new one. */
  save(progress: ImportProgress): Promise<void>;
}

/**
 * Opens the progress of a file.
 *
 * @param restart Ignores the position of an earlier run.
 * @throws UsageError when it belongs to another server, or the file has changed since.
 */
export async function openProgress(file: string, server: string, restart: boolean): Promise<ProgressFile> {
  const name = `${file}.progress`;
  const found = restart ? undefined : await readStored(name);
  // A run that got nowhere, as with a wrong URL, binds the next one to nothing.
  const stored = found?.progress.place.end === 0 ? undefined : found;
  if (stored !== undefined) await assertSame(file, server, stored);
  const fingerprint = stored?.fingerprint ?? (await fingerprintOf(file, FINGERPRINT_BYTES));
  return {
    earlier: stored?.progress,
    async save(progress) {
      const text = `${JSON.stringify({ ...progress, fingerprint }, null, 2)}\n`;
      try {
        replaceFile(name, text);
      } catch (error) {
        throw new UsageError(
          `Cannot write ${name}, which stores the position of the import: ${messageOf(error)}. Make its folder writable, or copy the file to another one.`,
        );
      }
    },
  };
}

interface Stored {
  readonly progress: ImportProgress;
  readonly fingerprint: Fingerprint;
}

async function readStored(name: string): Promise<Stored | undefined> {
  const text = await readFile(name, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const { fingerprint, ...progress } = parseJson(text) as ImportProgress & { fingerprint: Fingerprint };
    const { place, server } = progress;
    const isUsable = Number.isSafeInteger(place?.end) && Number.isSafeInteger(place?.number);
    if (isUsable && typeof server === "string" && isObject(fingerprint)) return { progress, fingerprint };
  } catch {
    // Told below.
  }
  throw new UsageError(
    `${name} is damaged, so the position of the import is not known. Pass --restart to import everything again: within 24 hours, the server recognises calls that it already has.`,
  );
}

async function assertSame(file: string, server: string, { progress, fingerprint }: Stored): Promise<void> {
  if (progress.server !== server) {
    throw new UsageError(
      `The import of ${file} was started with the server ${progress.server}, not ${server}. Pass that server, or pass --restart to import everything again.`,
    );
  }
  const { bytes, sha256 } = await fingerprintOf(file, fingerprint.bytes);
  if (sha256 === fingerprint.sha256 && bytes === fingerprint.bytes) return;
  throw new UsageError(
    `${file} has changed since its import was started. Pass --restart to import everything again.`,
  );
}

async function fingerprintOf(file: string, most: number): Promise<Fingerprint> {
  const cannotRead = (error: unknown): never => {
    throw new UsageError(`Cannot read ${file}: ${messageOf(error)}. Give a file with one call on each line.`);
  };
  const handle = await open(file).catch(cannotRead);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(most), 0, most, 0);
    const sha256 = createHash("sha256").update(buffer.subarray(0, bytesRead)).digest("hex");
    return { bytes: bytesRead, sha256 };
  } catch (error) {
    return cannotRead(error);
  } finally {
    await handle.close();
  }
}
