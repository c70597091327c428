import { type Clock, fileMessageOf } from "@countersign/protocol";
import {
  createSender,
  createTransport,
  makePrivateFolder,
  sqliteStore,
  StoreError,
  type Sender,
  type Transport,
} from "@countersign/sender";
import { faultyTransport, type FaultyTransport } from "@countersign/sender/faults";
import { resolve } from "node:path";
import { ServerError, writtenByNewer } from "../errors/server-error.ts";
import { recordingTransport } from "../recording/recording-transport.ts";
import { ServerOptionsError, type ServerOptions } from "./server-options.ts";

/** Unless `maxBytes` says otherwise. */
const BYTES_IN_MEMORY = 256 * 1_024 * 1_024;
const BYTES_ON_DISK = 8 * 1_024 * 1_024 * 1_024;

/** What carries attempts: faults can be injected into it, and `record` writes down what it sends. */
export function openTransport(options: ServerOptions, clock: Clock): FaultyTransport {
  const { record: file, blockPrivateNetworks, proxy, noProxy, onError = () => {} } = options;
  const direct = createTransport({ blockPrivateNetworks, proxy, noProxy });
  const now = (): number => clock.now();
  return faultyTransport(file === undefined ? direct : recordingTransport(direct, { file, now, onError }));
}

/** Starts the engine on the store that the options choose. */
export async function openSender(
  options: ServerOptions,
  sources: NonNullable<ServerOptions["sources"]>,
  clock: Clock,
  transport: Transport,
): Promise<Sender> {
  const { data, retry, keepFor, deliver } = options;
  // Absolute: the store takes "shop:1/deliveries.db" for a URL.
  const path = data === undefined ? ":memory:" : resolve(data, "deliveries.db");
  const store = options.store ?? sqliteStore({ path, keepFor, maxBytes: maxBytesOf(options) });
  try {
    return await createSender({
      sources,
      clock,
      retry,
      transport,
      store,
      deliver,
    });
  } catch (error) {
    // The sender's message names its own package, which the caller has not installed.
    if (error instanceof StoreError && error.code === "ERR_STORE_NEWER" && options.store === undefined)
      throw writtenByNewer(path);
    // The sender's errors about options start like this. Any other TypeError is a bug in the server.
    const isOption = error instanceof TypeError && error.message.startsWith("createSender(");
    throw isOption ? new ServerOptionsError(error.message) : error;
  }
}

/** How much the deliveries may take, in bytes. */
export function maxBytesOf({ maxBytes, data }: ServerOptions): number {
  return maxBytes ?? (data === undefined ? BYTES_IN_MEMORY : BYTES_ON_DISK);
}

/**
 * Creates the data directory if there is none.
 *
 * @throws ServerError when it cannot be created.
 */
export function makeDirectory(path: string): void {
  try {
    // The files contain personal data.
    makePrivateFolder(path);
  } catch (error) {
    throw new ServerError(
      "ERR_DATA_UNREADABLE",
      `The data directory ${path} cannot be created: ${fileMessageOf(error)}. Give --data another one.`,
      error,
    );
  }
}
