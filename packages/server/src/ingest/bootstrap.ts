import type { FastifyRequest } from "fastify";
import { isOverTls } from "../over-tls.ts";
import type { Ingest } from "./ingest.ts";
import { refusal, type Refusal } from "./refusal.ts";
import { readWriteKey } from "./write-key.ts";

/** The answer to a library whose write key belongs to no source. */
export const UNKNOWN_WRITE_KEY: Refusal = refusal(
  "unknown_write_key",
  "Configure the library with the write key of a source of this server.",
);

/**
 * What `AnalyticsBrowser.load({ writeKey, cdnURL })` of @segment/analytics-next asks for at
 * `GET /v1/projects/{writeKey}/settings`: that it sends its calls, and no figures about itself, to the server that answers.
 *
 * @returns undefined if no source has the write key.
 */
export function segmentSettings(
  request: FastifyRequest,
  writeKey: string,
  ingest: Pick<Ingest, "findSource">,
): object | undefined {
  if (ingest.findSource(writeKey) === undefined) return undefined;
  const { host, protocol } = addressOf(request);
  const server = { apiHost: `${host}/v1`, protocol };
  return {
    integrations: {
      "Segment.io": {
        apiKey: writeKey,
        ...server,
        unbundledIntegrations: [],
        addBundledMetadata: true,
        maybeBundledConfigIds: {},
      },
    },
    plan: { track: { __default: { enabled: true, integrations: {} } } },
    // Without a rate the library reports to its maker every 30 s.
    metrics: { host: server.apiHost, protocol, sampleRate: 0 },
    analyticsNextEnabled: true,
    enabledMiddleware: {},
    middlewareSettings: {},
    remotePlugins: [],
    legacyVideoPluginsEnabled: false,
  };
}

/**
 * What Rudder's libraries ask for at `GET {configUrl}/sourceConfig`, with the write key as user name of Basic authorization.
 *
 * @returns undefined if no source has the write key.
 */
export function rudderSettings(
  { headers }: FastifyRequest,
  ingest: Pick<Ingest, "findSource" | "isWriteKey">,
): object | undefined {
  const writeKey = readWriteKey(headers.authorization, undefined, ingest.isWriteKey);
  const source = writeKey === undefined ? undefined : ingest.findSource(writeKey);
  if (source === undefined) return undefined;
  const off = { enabled: false };
  return {
    source: {
      id: source,
      name: source,
      writeKey,
      workspaceId: "countersign",
      enabled: true,
      config: { statsCollection: { errors: off, metrics: off } },
      destinations: [],
      connections: [],
    },
  };
}

/** The address as the page's browser knows it: another one would be another origin, or no address at all behind a proxy. */
function addressOf(request: FastifyRequest): { host: string; protocol: string } {
  const { headers, socket } = request;
  const host = headers.host ?? `${socket.localAddress}:${socket.localPort}`;
  return { host, protocol: isOverTls(request) ? "https" : "http" };
}
