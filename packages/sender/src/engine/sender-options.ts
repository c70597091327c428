import {
  checkOptionNames,
  DELIVER_SYNONYMS,
  HEADERS_SYNONYMS,
  PROXY_SYNONYMS,
  RETRY_SYNONYMS,
  SECRET_SYNONYMS,
  SOURCES_SYNONYMS,
  STORE_SYNONYMS,
  TRANSPORT_SYNONYMS,
  URL_SYNONYMS,
  type OptionHints,
  type OptionNames,
  type Clock,
  type Duration,
} from "@countersign/protocol";
import type { RetryPolicy } from "../delivery/retry-policy.ts";
import type { EndpointSettings, SenderSettings } from "../settings/settings.ts";
import type { DeliveryStore } from "../store/delivery-store.ts";
import type { SenderInstrument } from "../transport/instrument.ts";
import type { ProxyOptions } from "../transport/proxy.ts";
import type { Transport } from "../transport/transport.ts";

/** Options of every sender. */
export interface EngineOptions extends ProxyOptions {
  /** The store for deliveries. The sender opens and closes it. Default: `sqliteStore()`, in memory. */
  readonly store?: DeliveryStore | undefined;
  /** The source of the time. Default: `systemClock()`. */
  readonly clock?: Clock | undefined;
  /**
   * When to try again; see {@link RetryPolicy} for the defaults. Processes that share a store share it, too: those with
   * `sources: "shared"` and no policy of their own follow that of the process which was given the sources.
   */
  readonly retry?: Partial<RetryPolicy> | undefined;
  /** How long an endpoint may take to respond, in physical time even with a virtual clock. Default: `"5s"` (spec 8). */
  readonly attemptTimeout?: Duration | undefined;
  /** Makes ids and the spread of retries repeatable: the same seed and calls give the same run. */
  readonly seed?: string | number | undefined;
  /** The number of failed attempts in a row after which an endpoint is reported as `failing`. Default: 5. */
  readonly failingAfter?: number | undefined;
  /** Blocks endpoints on private networks and on this machine too. A `transport` of your own has this option itself. Default: `false`. */
  readonly blockPrivateNetworks?: boolean | undefined;
  /**
   * Whether due deliveries are sent. With `false` this process only accepts, and others on the same store deliver.
   * Default: `true`.
   */
  readonly deliver?: boolean | undefined;
  /**
   * Whose events listeners get: only those of this sender, or those of all processes on the store that the store announces.
   * Default: `"own"`.
   */
  readonly events?: "own" | "all" | undefined;
  /** Makes the attempts. The sender closes it. Default: `createTransport()`. */
  readonly transport?: Transport | undefined;
  /** Observes attempts: `otel()` of `@countersign/sender/otel`. Default: none. */
  readonly instrument?: SenderInstrument | undefined;
}

/** One source with one endpoint. */
export interface SingleEndpointOptions extends EngineOptions, EndpointSettings {
  /**
   * Key of the `X-Signature` header. Left out, messages are not signed. `undefined` is refused, because
   * it usually means that an environment variable is not set.
   */
  readonly secret?: string | undefined;
}

/** Sources and destinations in full. */
export interface SourcesOptions extends EngineOptions, SenderSettings {}

/** The settings that other processes on the same store share. */
export interface SharedSettingsOptions extends EngineOptions {
  /** `"shared"` reads the settings from the store, and follows them. Until there are any, the sender accepts and sends nothing. */
  readonly sources: "shared";
}

/** Options of `createSender`: one endpoint, sources in full, or the settings of the store. */
export type SenderOptions = SingleEndpointOptions | SourcesOptions | SharedSettingsOptions;

/** The names of {@link EngineOptions}, which every form takes. */
export const ENGINE_NAMES: OptionNames<EngineOptions> = {
  store: STORE_SYNONYMS,
  clock: true,
  retry: RETRY_SYNONYMS,
  attemptTimeout: ["requesttimeout timeout timeoutms", 'in milliseconds, or text such as "5s"'],
  seed: true,
  failingAfter: true,
  deliver: DELIVER_SYNONYMS,
  events: true,
  blockPrivateNetworks: true,
  proxy: PROXY_SYNONYMS,
  noProxy: true,
  transport: TRANSPORT_SYNONYMS,
  instrument: true,
};
const SINGLE_NAMES: OptionNames<SingleEndpointOptions> = {
  url: URL_SYNONYMS,
  headers: HEADERS_SYNONYMS,
  ca: true,
  secret: SECRET_SYNONYMS,
  ...ENGINE_NAMES,
};
const SOURCES_NAMES: OptionNames<SourcesOptions> = { sources: SOURCES_SYNONYMS, ...ENGINE_NAMES };

/** What the short form takes for its one endpoint belongs to one of several here. */
const SOURCES_HINTS: OptionHints = {
  secret: "a destination has it, as sources[0].destinations[0].secret",
  sharedSecret: "a destination has it, as sources[0].destinations[0].secret",
  headers: "an endpoint has them, as sources[0].destinations[0].endpoints[0].headers",
  ca: "an endpoint has it, as sources[0].destinations[0].endpoints[0].ca",
};

/** A way to say where messages go: the option that says it, the names that may be given with it, and hints. */
export interface OptionsForm {
  readonly key: string;
  readonly names: Readonly<Record<string, unknown>>;
  readonly hints?: OptionHints;
}

const FORMS: readonly OptionsForm[] = [
  { key: "url", names: SINGLE_NAMES },
  { key: "sources", names: SOURCES_NAMES, hints: SOURCES_HINTS },
];

/**
 * Refuses options that do not say where messages go, or say it twice, and unknown names.
 *
 * @param what The function that was given the options: `createSender`.
 * @param extra Forms that only this function takes.
 * @throws TypeError saying what to give instead
 */
export function checkSenderOptions(what: string, options: unknown, extra: readonly OptionsForm[] = []): void {
  if (typeof options === "string" || options instanceof URL) {
    throw new TypeError(
      `${what}() takes an object: ${what}({ url: ${JSON.stringify(withoutCredentials(options))} }).`,
    );
  }
  const forms = [...FORMS, ...extra];
  if (typeof options !== "object" || options === null || Array.isArray(options)) throw whereTo(what, "");
  if ("target" in options && extra.length === 0) {
    throw new TypeError(
      `${what}() has no option "target": createTestSender({ target }) of @countersign/sender/testing delivers to an application.`,
    );
  }
  const wanted = forms.filter(({ key }) => key in options);
  const [form, other] = wanted;
  if (form === undefined) throw whereTo(what, "");
  if (other !== undefined) {
    const keys = wanted.map(({ key }) => key).join(", ");
    throw new TypeError(
      `${what}({ ${keys} }) says ${wanted.length} times where messages go. Keep one of them.`,
    );
  }
  const value: unknown = Reflect.get(options, form.key);
  if (value === undefined || value === null) throw whereTo(what, ` Its ${form.key} is ${String(value)}.`);
  checkOptionNames(`${what}({ ${form.key} })`, options, form.names, form.hints);
}

/** What is logged of a URL must not give away a password in it. */
function withoutCredentials(text: string | URL): string {
  if (!URL.canParse(String(text))) return String(text);
  const url = new URL(text);
  if (url.username === "" && url.password === "") return String(text);
  url.username = "";
  url.password = "";
  return url.href;
}

function whereTo(what: string, problem: string): TypeError {
  return new TypeError(
    `${what}() needs to know where messages go.${problem} ` +
      (what === "createTestSender"
        ? "Give it your app as target: createTestSender({ target: app }). Or give"
        : "Give") +
      " it a url or sources: " +
      `${what}({ url: "https://example.com/hooks" }) for one endpoint, ` +
      `${what}({ sources: [{ name: "shop", destinations: [{ endpoints: [{ url }] }] }] }) for several.`,
  );
}
