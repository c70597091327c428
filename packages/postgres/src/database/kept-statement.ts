import { hash } from "node:crypto";
import type { Statement } from "./connections.ts";

/** So many characters of a hash tell all texts apart; a name has 63 at most. */
const HASH_CHARACTERS = 22;

/**
 * A command that connections keep prepared. Its name goes with its text: stores with other schemas may share the connections,
 * and the driver refuses one name for two texts.
 */
export function keptStatement(name: string, text: string): Statement {
  return { name: `${name}_${hash("sha256", text, "base64url").slice(0, HASH_CHARACTERS)}`, text };
}

/** The same of a command for many deliveries at once. */
export function keptForMany(name: string, text: string): Statement {
  return { ...keptStatement(name, text), isForMany: true };
}
