import { sign, verifySignature } from "@countersign/core";
import file from "@countersign/core/vectors.json" with { type: "json" };

/**
 * Runs core's vectors on the runtime at hand. Vectors whose key is not text concern the hash function alone, which core's
 * own tests put to both of its implementations.
 *
 * @returns {{ runtime: string, run: number, failures: string[] }}
 */
export function runVectors() {
  const vectors = file.vectors.filter(({ secret }) => secret !== undefined);
  const failures = vectors.filter((vector) => !holds(vector)).map(({ name }) => name);
  return { runtime: identify(), run: vectors.length, failures };
}

function holds({ secret, body, bodyHex, signature }) {
  const bytes = body === undefined ? fromHex(bodyHex) : new TextEncoder().encode(body);
  const verified = verifySignature(bytes, signature.toUpperCase(), secret);
  const forged = verifySignature(bytes, signature, `${secret}.`);
  return (
    sign(bytes, secret) === signature &&
    (body === undefined || sign(body, secret) === signature) &&
    verified.ok &&
    verified.verifiedOver === "bytes" &&
    !forged.ok
  );
}

function fromHex(hex) {
  return Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}

/** What this runtime calls itself, with its version where it tells one. */
function identify() {
  const { Bun, Deno, navigator, process } = globalThis;
  if (Bun) return `Bun ${Bun.version}`;
  if (Deno) return `Deno ${Deno.version.deno}`;
  if (navigator?.userAgent === "Cloudflare-Workers")
    return `workerd${process?.versions ? " with node:*" : ""}`;
  return `Node ${process.versions.node}`;
}
