import type { SenderOptions } from "../sender-options.ts";
import { openTarget } from "../target/open-target.ts";
import { parseSettings } from "./parse-settings.ts";
import type { EndpointSettings, SenderSettings } from "./settings.ts";

/** Settings in full, and what was opened for them. */
export interface OpenSettings {
  readonly settings: SenderSettings;
  /** Closes what was opened for them. */
  readonly close: () => Promise<void>;
}

const anyBase = "http://127.0.0.1/";

/** The name of the one source that the short forms make. */
const onlySource = "default";

/**
 * Settings of a sender, from any of the forms they can be given in. That it is one, and one only, was checked before.
 *
 * @throws SettingsError when they are not valid, TypeError when a target cannot be delivered to as told; nothing is
 * left open then
 */
export async function openSettings(options: SenderOptions): Promise<OpenSettings> {
  if ("sources" in options) return checked({ sources: options.sources });
  const { headers, sharedSecret } = options;
  if (!("target" in options)) {
    const { url, ca } = options;
    return checked(single({ url, headers, ca }, sharedSecret));
  }
  if (options.blockPrivateNetworks === true) {
    throw new TypeError("createSender({ target }) delivers to this machine: leave blockPrivateNetworks out.");
  }
  const { path = "/" } = options;
  assertPath(path);
  // Any port will do to check the rest before one is opened.
  const settingsAt = (base: string): SenderSettings =>
    single({ url: new URL(path, base).href, headers }, sharedSecret);
  checked(settingsAt(anyBase));
  const target = await openTarget(options.target);
  return { settings: settingsAt(target.url), close: () => target.close() };
}

/** What is sent to a target must not leave for somewhere else: URLs take a backslash for a slash, and skip a tab. */
function assertPath(path: string): void {
  const isPath = typeof path === "string" && /^\/(?!\/)/u.test(path);
  if (isPath && URL.canParse(path, anyBase) && new URL(path, anyBase).href.startsWith(anyBase)) return;
  throw new TypeError(
    `createSender({ path }) is a path of the target and starts with one slash, such as "/hooks", but is ${JSON.stringify(path)}.`,
  );
}

function single(endpoint: EndpointSettings, sharedSecret: string | undefined): SenderSettings {
  return { sources: [{ name: onlySource, destinations: [{ endpoints: [endpoint], sharedSecret }] }] };
}

function checked(settings: SenderSettings): OpenSettings {
  parseSettings(settings);
  return { settings, close: () => Promise.resolve() };
}
