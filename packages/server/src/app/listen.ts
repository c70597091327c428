import { codeOf, listeningUrl, messageOf } from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import { ServerError } from "../errors/server-error.ts";

/**
 * Starts listening, and returns the URL that clients take as their host.
 *
 * @throws ServerError when the port is taken, or the address cannot be listened on.
 */
export async function listen(
  app: FastifyInstance,
  { host, port, scheme }: { readonly host: string; readonly port: number; readonly scheme: "http" | "https" },
): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    throw listenError(error, host, port);
  }
  const address = app.server.address();
  return listeningUrl(scheme, host, typeof address === "object" && address !== null ? address.port : 0);
}

/** Why an address cannot be listened on, and what to do. */
export function listenError(error: unknown, host: string, port: number): ServerError {
  const code = codeOf(error);
  if (code === "EADDRINUSE") {
    return new ServerError(
      "ERR_PORT_TAKEN",
      `Port ${port} on ${host} is already in use. Stop the process that listens there, or choose another port with --port.`,
      error,
    );
  }
  return new ServerError(
    "ERR_LISTEN",
    `Cannot listen on ${host} port ${port}: ${messageOf(error)}. Choose another address with --host and --port.`,
    error,
  );
}
