import {
  checkClock,
  checkPort,
  describeValue,
  nameKind,
  parseDuration,
  systemClock,
} from "@countersign/protocol";
import { randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
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
import { SettingsKeeper } from "./engine/settings-keeper.ts";
import { StoreWatch } from "./engine/store-watch.ts";
import { keptSettings } from "./settings/kept-settings.ts";
import { parseSettings } from "./settings/parse-settings.ts";
import { secretOf, type SenderSettings } from "./settings/settings.ts";
import type { DeliveryStore } from "./store/delivery-store.ts";
import { sqliteStore } from "./sqlite/sqlite-store.ts";
import { EndpointRecorder } from "./engine/endpoint-recorder.ts";
import { MinuteCounts } from "./engine/minute-counts.ts";
import { ATTEMPT_TIMEOUT_MS } from "./explain/attempt-timeout.ts";
import { FAILING_AFTER } from "./explain/failing-after.ts";
import { checkAddressPolicy } from "./transport/address-policy.ts";
import { createTransport } from "./transport/create-transport.ts";
import { checkProxy, optionsOf } from "./transport/proxy.ts";
import { instrumented } from "./transport/instrument.ts";

const STORE_METHODS: readonly (keyof DeliveryStore)[] = [
  "open",
  "accept",
  "repeat",
  "hasten",
  "hastenAll",
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
 * @throws TypeError when another option is wrong or does not exist, or no option says where messages go
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
 * @param what The function's name, for messages about its options.
 */
export async function openSender(what: string, options: SenderOptions): Promise<Sender> {
  // Everything that can be wrong with the options is found before anything is opened that would have to be closed.
  checkSenderOptions(what, options);
  checkGlobals(what);
  checkPorts(what, options);
  const timeoutMs = attemptTimeoutOf(what, options);
  parseRetryPolicy(what, options.retry);
  const { store = sqliteStore(), clock = systemClock(), deliver: delivers = true } = options;
  const given = checked(settingsOf(options), store);
  if (given === undefined && store.settings === undefined) throw new TypeError(nothingShared(what));
  const events = new EventHub(clock);
  const waiters = new Waiters(store, clock);
  const failed = (error: Error): void => events.emit("storeError", { error });
  const keeper = new SettingsKeeper(store, failed, options.retry);
  const storeWatch = new StoreWatch(events);
  const { generation } = await store.open({
    clock,
    ended: waiters.ended,
    missed() {
      waiters.missed();
      keeper.refresh();
    },
    told: options.events === "all" ? (event) => events.emitRemote(event) : () => {},
    failed,
    stateChanged: storeWatch.changed,
  });
  const settings = await keeper.start(given).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const seed = options.seed ?? randomBytes(16).toString("hex");
  // With the generation, a store that is opened again does not get the ids it has a second time.
  const random = seededRandom(`${seed} ${generation}`);
  const intake = new CallIntake(clock, random.fork("ids"));
  const transport = instrumented(openTransport(what, options), options.instrument);
  const minutes = new MinuteCounts(clock);
  const recorder = new EndpointRecorder(timeoutMs, options.failingAfter ?? FAILING_AFTER, minutes, events);
  const parts = { store, clock, transport, keeper, timeoutMs, random, events, recorder, minutes, delivers };
  const all = { ...parts, engine: new Engine(parts), intake, waiters, storeWatch };
  try {
    return new Forwarder(all, settings);
  } catch (error) {
    await Promise.allSettled([transport.close(), store.close()]);
    throw error;
  }
}

function nothingShared(what: string): string {
  return `${what}({ sources: "shared" }) needs a store that several processes share, such as postgresStore. Give the sources themselves.`;
}

/** @throws TypeError where a test environment has its own signals: Node's modules refuse those with a message about "eventTargets". */
function checkGlobals(what: string): void {
  try {
    setMaxListeners(0, new AbortController().signal);
  } catch (cause) {
    throw new TypeError(
      `${what}() needs Node's AbortController, but a test environment such as jsdom or happy-dom has replaced it. Begin the file with // @vitest-environment node, or in Jest with /** @jest-environment node */.`,
      { cause },
    );
  }
}

/** @throws TypeError when something injected lacks a method, or a value is wrong: it would fail later, during the work */
export function checkPorts(what: string, options: EngineOptions): void {
  const { clock, store, transport, instrument, seed } = options;
  const { failingAfter = 1, deliver = true, events = "own" } = options;
  if (clock !== undefined) checkClock(`${what}({ clock })`, clock);
  if (store !== undefined) checkPort(`${what}({ store })`, store, STORE_METHODS);
  if (transport !== undefined) checkPort(`${what}({ transport })`, transport, ["send", "close"]);
  if (instrument !== undefined) checkPort(`${what}({ instrument })`, instrument, ["attempt"]);
  if (seed !== undefined && typeof seed !== "string" && typeof seed !== "number") {
    throw new TypeError(`${what}({ seed }) must be a text or a number, not ${nameKind(seed)}.`);
  }
  checkAddressPolicy(what, options);
  checkProxy(options, optionsOf(what));
  const ofTransport = givenForTransport(options);
  if (transport !== undefined && ofTransport !== undefined) {
    throw new TypeError(
      `${what}({ transport, ${ofTransport} }): a transport has this option itself. Pass ${ofTransport} to createTransport(), or leave transport out.`,
    );
  }
  if (typeof deliver !== "boolean") {
    throw new TypeError(`${what}({ deliver }) must be true or false, not ${describeValue(deliver)}.`);
  }
  if (events !== "own" && events !== "all") {
    throw new TypeError(`${what}({ events }) must be "own" or "all", not ${describeValue(events)}.`);
  }
  if (!Number.isInteger(failingAfter) || failingAfter < 1) {
    throw new TypeError(`${what}({ failingAfter }) must be a whole number of attempts, at least 1.`);
  }
}

/** An option that is for the transport which a sender creates itself, if one is given. */
export function givenForTransport({ blockPrivateNetworks, proxy }: EngineOptions): string | undefined {
  if (blockPrivateNetworks === true) return "blockPrivateNetworks";
  return proxy === undefined ? undefined : "proxy";
}

/** The transport that was given, or the real one. */
export function openTransport(what: string, options: EngineOptions): Transport {
  const { transport, blockPrivateNetworks, proxy, noProxy } = options;
  // No connection outlives the attempt it was made for.
  const connectTimeoutMs = Math.min(attemptTimeoutOf(what, options), 3_600_000);
  return transport ?? createTransport({ blockPrivateNetworks, proxy, noProxy, connectTimeoutMs });
}

function attemptTimeoutOf(what: string, { attemptTimeout = ATTEMPT_TIMEOUT_MS }: EngineOptions): number {
  const ms = parseDuration(attemptTimeout, `${what}({ attemptTimeout })`);
  if (ms >= 1) return ms;
  throw new TypeError(
    `${what}({ attemptTimeout }) must be at least 1 ms: with 0, every attempt would time out.`,
  );
}

/** Settings as they are kept: what is checked here is not checked again when the store is open. */
function checked(given: SenderSettings | undefined, store: DeliveryStore): SenderSettings | undefined {
  return given && keptSettings(given, parseSettings(given, store));
}

/** The settings that the options describe; undefined when the store has them. */
function settingsOf(options: SenderOptions): SenderSettings | undefined {
  if ("sources" in options) return options.sources === "shared" ? undefined : { sources: options.sources };
  const { url, headers, ca } = options;
  const destination = { endpoints: [{ url, headers, ca }], ...secretOf(options) };
  return { sources: [{ name: ONLY_SOURCE, destinations: [destination] }] };
}
