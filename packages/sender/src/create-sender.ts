import { randomBytes } from "node:crypto";
import { type Duration, parseDuration } from "./clock/duration.ts";
import { systemClock } from "./clock/system-clock.ts";
import { parseRetryPolicy } from "./delivery/parse-retry-policy.ts";
import { CallIntake } from "./engine/call-intake.ts";
import { Engine } from "./engine/engine.ts";
import { EventHub } from "./engine/event-hub.ts";
import { FaultPlan } from "./engine/fault-plan.ts";
import { Forwarder } from "./engine/forwarder.ts";
import { IdleWatch } from "./engine/idle-watch.ts";
import { SettledWaiters } from "./engine/settled-waiters.ts";
import { checkSenderOptions } from "./options/check-sender-options.ts";
import { seededRandom } from "./random/random-source.ts";
import type { SenderOptions } from "./sender-options.ts";
import type { Sender } from "./sender.ts";
import { openSettings } from "./settings/open-settings.ts";
import { sqliteStore } from "./sqlite/sqlite-store.ts";
import { ResponseTimeRecorder } from "./stats/response-time-recorder.ts";
import { createTransport } from "./transport/create-transport.ts";

/** How long an endpoint may take to respond (spec section 8). */
const defaultTimeout: Duration = "5s";

/**
 * Starts a sender: it forwards calls as signed webhook messages, retries for four hours, and keeps what it accepted
 * in its store until it is delivered.
 *
 * @throws SettingsError when the settings are not valid, naming everything that is wrong
 * @throws TypeError when another option is wrong or does not exist, or nothing says where messages go
 * @throws StoreError when the store cannot be opened
 * @example
 * ```ts
 * const sender = await createSender({ url: "https://example.com/hooks", sharedSecret: "secret" });
 * const receipt = await sender.track({ userId: "u1", event: "Signed Up" });
 * const [delivery] = await receipt.settled();
 * await sender.close();
 * ```
 */
export async function createSender(options: SenderOptions): Promise<Sender> {
  // Everything that can be wrong with the options is found before anything is opened that would have to be closed.
  checkSenderOptions(options);
  const timeoutMs = parseDuration(
    options.attemptTimeout ?? defaultTimeout,
    "createSender({ attemptTimeout })",
  );
  const policy = parseRetryPolicy(options.retry);
  const { settings, close: closeSettings } = await openSettings(options);
  const store = options.store ?? sqliteStore();
  const clock = options.clock ?? systemClock();
  const events = new EventHub();
  const waiters = new SettledWaiters((id) => store.find(id));
  const idle = new IdleWatch(() => intake.countPending(store));
  const opening = store.open({
    clock,
    ended(id) {
      waiters.ended(id);
      idle.changed();
    },
    failed: (error) => events.emit("storeError", { error }),
  });
  const { generation } = await opening.catch(async (error: unknown) => {
    await closeSettings();
    throw error;
  });
  const seed = options.seed ?? randomBytes(16).toString("hex");
  // With the generation, a store that is opened again does not get the ids it has a second time.
  const random = seededRandom(`${seed} ${generation}`);
  const intake = new CallIntake(clock, random.fork("ids"));
  const transport =
    options.transport ??
    createTransport({
      blockPrivateNetworks: options.blockPrivateNetworks,
      // No connection outlives the attempt it was made for.
      connectTimeoutMs: Math.min(Math.max(timeoutMs, 1), 3_600_000),
    });
  const recorder = new ResponseTimeRecorder(timeoutMs);
  const parts = {
    store,
    clock,
    transport,
    policy,
    timeoutMs,
    random,
    events,
    recorder,
    faults: new FaultPlan(),
  };
  return new Forwarder(
    { ...parts, engine: new Engine(parts), intake, waiters, idle, closeSettings },
    settings,
  );
}
