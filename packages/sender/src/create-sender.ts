import {
  checkClock,
  checkPort,
  describeKind,
  type Duration,
  parseDuration,
  systemClock,
} from "@countersign/protocol";
import { randomBytes } from "node:crypto";
import { parseRetryPolicy } from "./delivery/retry-policy.ts";
import { CallIntake } from "./engine/call-intake.ts";
import { Engine } from "./engine/engine.ts";
import { EventHub } from "./engine/event-hub.ts";
import { Forwarder } from "./engine/forwarder.ts";
import { Waiters } from "./engine/waiters.ts";
import { checkSenderOptions, type EngineOptions, type SenderOptions } from "./engine/sender-options.ts";
import type { Transport } from "./transport/transport.ts";
import { seededRandom } from "./engine/random-source.ts";
import type { Sender } from "./engine/sender.ts";
import { parseSettings } from "./settings/parse-settings.ts";
import type { SenderSettings } from "./settings/settings.ts";
import type { DeliveryStore } from "./store/delivery-store.ts";
import { sqliteStore } from "./sqlite/sqlite-store.ts";
import { EndpointRecorder } from "./engine/endpoint-recorder.ts";
import { MinuteCounts } from "./engine/minute-counts.ts";
import { createTransport } from "./transport/create-transport.ts";

/** How long an endpoint may take to respond (spec 8). */
const DEFAULT_TIMEOUT: Duration = "5s";

const DEFAULT_FAILING_AFTER = 5;

const STORE_METHODS: readonly (keyof DeliveryStore)[] = [
  "open",
  "accept",
  "repeat",
  "hasten",
  "remove",
  "consume",
  "find",
  "list",
  "count",
  "skipped",
  "counts",
  "usage",
  "traits",
  "close",
];

/** The name of the one source that the short form makes. */
export const ONLY_SOURCE = "default";

/**
 * Starts a sender: it forwards calls as signed webhook messages, retries for four hours, and keeps what it accepted
 * in its store until it is delivered.
 *
 * @throws SettingsError when the settings are not valid, naming everything that is wrong
 * @throws TypeError when another option is wrong or does not exist, or nothing says where messages go
 * @throws StoreError when the store cannot be opened
 * @example
 * ```ts
 * const sender = await createSender({ url: "https://example.com/hooks", secret: "secret" });
 * const receipt = await sender.track({ userId: "u1", event: "Signed Up" });
 * const [delivery] = await receipt.settled();
 * await sender.close();
 * ```
 */
export function createSender(options: SenderOptions): Promise<Sender> {
  return openSender("createSender", options);
}

/**
 * Starts a sender for a function of this package.
 *
 * @param what The function's name, for what is said of its options.
 */
export async function openSender(what: string, options: SenderOptions): Promise<Sender> {
  // Everything that can be wrong with the options is found before anything is opened that would have to be closed.
  checkSenderOptions(what, options);
  checkPorts(what, options);
  const timeoutMs = attemptTimeoutOf(what, options);
  const policy = parseRetryPolicy(what, options.retry);
  const settings = settingsOf(options);
  parseSettings(settings);
  const { store = sqliteStore(), clock = systemClock() } = options;
  const events = new EventHub();
  const waiters = new Waiters(store);
  const { generation } = await store.open({
    clock,
    ended: waiters.ended,
    missed: () => {},
    told: () => {},
    failed: (error) => events.emit("storeError", { error }),
    stateChanged: () => {},
  });
  const seed = options.seed ?? randomBytes(16).toString("hex");
  // With the generation, a store that is opened again does not get the ids it has a second time.
  const random = seededRandom(`${seed} ${generation}`);
  const intake = new CallIntake(clock, random.fork("ids"));
  const transport = openTransport(what, options);
  const recorder = new EndpointRecorder(timeoutMs, options.failingAfter ?? DEFAULT_FAILING_AFTER, events);
  const minutes = new MinuteCounts(clock);
  const parts = { store, clock, transport, policy, timeoutMs, random, events, recorder, minutes };
  return new Forwarder({ ...parts, engine: new Engine(parts), intake, waiters }, settings);
}

/** @throws TypeError when something injected lacks a method, or a value is wrong: it would fail later, during the work */
export function checkPorts(what: string, options: EngineOptions): void {
  const { clock, store, transport, seed, failingAfter = 1 } = options;
  if (clock !== undefined) checkClock(`${what}({ clock })`, clock);
  if (store !== undefined) checkPort(`${what}({ store })`, store, STORE_METHODS);
  if (transport !== undefined) checkPort(`${what}({ transport })`, transport, ["send", "close"]);
  if (seed !== undefined && typeof seed !== "string" && typeof seed !== "number") {
    throw new TypeError(`${what}({ seed }) must be a text or a number, not ${describeKind(seed)}.`);
  }
  if (!Number.isInteger(failingAfter) || failingAfter < 1) {
    throw new TypeError(`${what}({ failingAfter }) must be a whole number of attempts, at least 1.`);
  }
}

/** The transport that was given, or the real one. */
export function openTransport(what: string, options: EngineOptions): Transport {
  const { transport, blockPrivateNetworks } = options;
  // No connection outlives the attempt it was made for.
  const connectTimeoutMs = Math.min(Math.max(attemptTimeoutOf(what, options), 1), 3_600_000);
  return transport ?? createTransport({ blockPrivateNetworks, connectTimeoutMs });
}

function attemptTimeoutOf(what: string, { attemptTimeout = DEFAULT_TIMEOUT }: EngineOptions): number {
  return parseDuration(attemptTimeout, `${what}({ attemptTimeout })`);
}

/** The settings that either form of options describes. */
function settingsOf(options: SenderOptions): SenderSettings {
  if ("sources" in options) return { sources: options.sources };
  const { url, headers, ca, secret } = options;
  return { sources: [{ name: ONLY_SOURCE, destinations: [{ endpoints: [{ url, headers, ca }], secret }] }] };
}
