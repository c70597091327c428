import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { X509Certificate } from "node:crypto";
import { makePrivateFolder } from "@countersign/sender";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileMessageOf, isEveryAddress, messageOf } from "@countersign/protocol";
import type { TlsOptions } from "@countersign/server";
import { UsageError } from "../errors/usage-error.ts";
import { createSelfSigned, isUsable, type SelfSigned } from "./self-signed.ts";

/** The TLS options of the command line. */
export interface TlsFlags {
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsSelfSigned?: boolean;
  readonly host?: string | undefined;
}

/** The certificate to listen with. */
export interface ServeTls {
  readonly tls: TlsOptions;
  /** The file that clients must trust, if they do not trust the certificate yet. */
  readonly trust?: { readonly file: string; readonly fingerprint: string };
  /** Removes what was made for this run only. */
  dispose?(): Promise<void>;
}

const CERT_FILE = "tls-cert.pem";
const KEY_FILE = "tls-key.pem";

/** Where a client on this machine finds the server, whatever address it listens on. */
const LOCAL_HOSTS = ["localhost", "127.0.0.1", "::1"];

/**
 * Reads the certificate that the flags name, or makes one.
 *
 * @param directory The data directory, where a certificate that was made is kept; without one it lasts as long as the process.
 * @throws UsageError if a file is missing, or flags contradict each other.
 */
export async function openTls(
  flags: TlsFlags,
  directory: string | undefined,
  cwd: string,
): Promise<ServeTls | undefined> {
  const { tlsCert, tlsKey, tlsSelfSigned = false } = flags;
  if (tlsSelfSigned) {
    if (tlsCert !== undefined || tlsKey !== undefined) {
      throw new UsageError("Give either --tls-self-signed or --tls-cert with --tls-key, not both.");
    }
    return openSelfSigned(hostsOf(flags.host), directory && resolve(cwd, directory));
  }
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined)
    throw new UsageError("--tls-key needs --tls-cert: give the file of its certificate.");
  if (tlsKey === undefined)
    throw new UsageError("--tls-cert needs --tls-key: give the file of its private key.");
  return {
    tls: {
      cert: await read("--tls-cert", resolve(cwd, tlsCert)),
      key: await read("--tls-key", resolve(cwd, tlsKey)),
    },
  };
}

async function openSelfSigned(hosts: readonly string[], data: string | undefined): Promise<ServeTls> {
  if (data === undefined) {
    const tls = await createSelfSigned(hosts, Date.now());
    const directory = await mkdtemp(join(tmpdir(), "countersign-")).catch(notWritten);
    const dispose = (): Promise<void> => rm(directory, { recursive: true, force: true });
    const file = join(directory, CERT_FILE);
    await writeFile(file, tls.cert).catch((error: unknown) => dispose().then(() => notWritten(error)));
    return { tls, trust: trustOf(file, tls), dispose };
  }
  makeDataFolder(data);
  const file = join(data, CERT_FILE);
  const tls = (await readKept(data, hosts)) ?? (await make(data, hosts));
  return { tls, trust: trustOf(file, tls) };
}

/** As on a disk that is full, or in a container whose file system is read-only. */
function notWritten(error: unknown): never {
  throw new UsageError(
    `The certificate of --tls-self-signed cannot be written: ${fileMessageOf(error)}. Give --data a directory that can be written.`,
  );
}

function makeDataFolder(data: string): void {
  try {
    makePrivateFolder(data);
  } catch (error) {
    throw new UsageError(
      `The data directory ${data} cannot be created: ${fileMessageOf(error)}. Give --data another one.`,
    );
  }
}

function trustOf(file: string, { cert }: SelfSigned): NonNullable<ServeTls["trust"]> {
  return { file, fingerprint: new X509Certificate(cert).fingerprint256 };
}

async function readKept(data: string, hosts: readonly string[]): Promise<SelfSigned | undefined> {
  try {
    const cert = await readFile(join(data, CERT_FILE), "utf8");
    const key = await readFile(join(data, KEY_FILE), "utf8");
    return isUsable(cert, hosts, Date.now()) ? { cert, key } : undefined;
  } catch {
    // Missing or damaged: a new one takes its place.
    return undefined;
  }
}

async function make(data: string, hosts: readonly string[]): Promise<SelfSigned> {
  const made = await createSelfSigned(hosts, Date.now());
  await writeFile(join(data, KEY_FILE), made.key, { mode: 0o600 }).catch(notWritten);
  await writeFile(join(data, CERT_FILE), made.cert, { mode: 0o600 }).catch(notWritten);
  return made;
}

function hostsOf(host: string | undefined): readonly string[] {
  return host === undefined || isEveryAddress(host) ? LOCAL_HOSTS : [...new Set([...LOCAL_HOSTS, host])];
}

async function read(flag: string, file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new UsageError(`${flag}: ${file} cannot be read: ${messageOf(error)}.`);
  }
}
