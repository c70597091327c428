import { inspect } from "node:util";
import type { DestinationSettings, EndpointSettings, SenderSettings } from "./settings.ts";

const MASK = "***";

/** Names of headers that carry a credential. */
const CREDENTIAL = /auth|cookie|credential|key|pass|secret|signature|token/i;

/**
 * A copy of settings that can be shown: without secrets, and without the values of static headers that carry a
 * credential, such as `Authorization`.
 */
export function maskSettings({ sources }: SenderSettings): SenderSettings {
  return {
    sources: sources.map((source) => ({ ...source, destinations: source.destinations.map(maskDestination) })),
  };
}

/** Has `console.log()` show settings masked. Programs read them as they are. */
export function shownMasked(settings: SenderSettings): SenderSettings {
  return Object.defineProperty(settings, inspect.custom, {
    value: () => maskSettings(settings),
    enumerable: false,
  });
}

function maskDestination(destination: DestinationSettings): DestinationSettings {
  const { secret, endpoints } = destination;
  const masked = { ...destination, endpoints: endpoints.map(maskEndpoint) };
  return secret === undefined ? masked : { ...masked, secret: MASK };
}

function maskEndpoint(endpoint: EndpointSettings): EndpointSettings {
  const { headers } = endpoint;
  if (headers === undefined) return endpoint;
  const shown = Object.entries(headers).map(([name, value]) => [name, CREDENTIAL.test(name) ? MASK : value]);
  return { ...endpoint, headers: Object.fromEntries(shown) as Readonly<Record<string, string>> };
}
