import type { FastifyRequest } from "fastify";
import type { Refusal } from "./refusal.ts";
import { readWriteKey } from "./write-key.ts";

/** Settings of a browser library, or why they are refused. */
type Answer =
  | { readonly ok: true; readonly settings: object }
  | { readonly ok: false; readonly refusal: Refusal };

/** Finds the name of the source that a write key belongs to. */
export type FindSource = (writeKey: string) => string | undefined;

/**
 * What `AnalyticsBrowser.load({ writeKey, cdnURL })` of @segment/analytics-next asks for at
 * `GET /v1/projects/{writeKey}/settings`: that it sends its calls, and no figures about itself, to the server that answers.
 */
export function segmentSettings(request: FastifyRequest, writeKey: string, findSource: FindSource): Answer {
  if (findSource(writeKey) === undefined) return unknownKey();
  const { host, protocol } = addressOf(request);
  const server = { apiHost: `${host}/v1`, protocol };
  return {
    ok: true,
    settings: {
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
    },
  };
}

/** What Rudder's libraries ask for at `GET {configUrl}/sourceConfig`, with the write key as user name of Basic authorization. */
export function rudderSettings(
  { headers }: FastifyRequest,
  findSource: FindSource,
  isWriteKey: (text: string) => boolean,
): Answer {
  const writeKey = readWriteKey(headers.authorization, undefined, isWriteKey);
  const source = writeKey === undefined ? undefined : findSource(writeKey);
  if (source === undefined) return unknownKey();
  const off = { enabled: false };
  return {
    ok: true,
    settings: {
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
    },
  };
}

/** The address as the page's browser knows it: another one would be another origin, or no address at all behind a proxy. */
function addressOf({ headers, protocol, socket }: FastifyRequest): { host: string; protocol: string } {
  const host = headers.host ?? `${socket.localAddress}:${socket.localPort}`;
  const behindTls = protocol === "https" || headers["x-forwarded-proto"] === "https";
  return { host, protocol: behindTls ? "https" : "http" };
}

function unknownKey(): Answer {
  return {
    ok: false,
    refusal: {
      status: 404,
      code: "unknown_write_key",
      message: "No source has this write key",
      detail: "Configure the library with the write key of a source of this server.",
    },
  };
}
