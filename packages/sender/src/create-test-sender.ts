import {
  systemClock,
  HEADERS_SYNONYMS,
  SECRET_SYNONYMS,
  type Clock,
  type OptionNames,
} from "@countersign/protocol";
import { checkPorts, givenForTransport, ONLY_SOURCE, openSender, openTransport } from "./create-sender.ts";
import type { CloseOptions, Sender } from "./engine/sender.ts";
import {
  checkSenderOptions,
  ENGINE_NAMES,
  type EngineOptions,
  type OptionsForm,
  type SenderOptions,
} from "./engine/sender-options.ts";
import { AttemptsUnderWay } from "./expect/attempts-under-way.ts";
import { createExpect } from "./expect/create-expect.ts";
import { InjectedFaults } from "./expect/injected-faults.ts";
import type { Expect } from "./expect/expect.ts";
import type { Fault, FaultScope, InjectedFault } from "./faults/fault.ts";
import { type FaultyTransport, faultyTransport } from "./faults/faulty-transport.ts";
import { secretOf } from "./settings/settings.ts";
import { type OpenTarget, openTarget } from "./target/open-target.ts";
import { replacedTurns } from "./target/replaced-turns.ts";
import type { Target } from "./target/target.ts";

/** One source that delivers into an application, over a loopback port of its own. */
export interface TargetOptions extends EngineOptions {
  /**
   * An Express, Koa or Node handler, a Fastify instance, or a fetch handler. A list of up to five is one destination with as
   * many endpoints, in the order of the list (spec 6).
   */
  readonly target: Target | readonly Target[];
  /** Path and query to send to, of each target. Default: `/`. */
  readonly path?: string | undefined;
  /** Headers sent on every request to it. They cannot replace those that the sender sets itself. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Key of the `X-Signature` header. Left out, messages are not signed. `undefined` is refused, because
   * it usually means that an environment variable is not set.
   */
  readonly secret?: string | undefined;
}

/** Options of `createTestSender`: an application, or the options of `createSender`. */
export type TestSenderOptions = TargetOptions | SenderOptions;

/** A sender for tests of a receiver. */
export interface TestSender extends Sender {
  /** Waits for a message, its attempts or its end, in a test of any framework; see {@link Expect}. */
  readonly expect: Expect;
  /**
   * Injects a fault.
   *
   * @throws TypeError when there is no such fault, or the scope has an unknown or invalid field
   */
  inject(fault: Fault, scope?: FaultScope): InjectedFault;
}

/** Any port will do to check a path. */
const ANY_BASE = "http://127.0.0.1/";

/** The names that may be given with `target`. */
const TARGET_NAMES: OptionNames<TargetOptions> = {
  target: true,
  path: true,
  headers: HEADERS_SYNONYMS,
  secret: SECRET_SYNONYMS,
  ...ENGINE_NAMES,
};
const TARGET_FORM: OptionsForm = {
  key: "target",
  names: TARGET_NAMES,
};

/**
 * Starts a sender for a test: like `createSender`, with `expect`, `inject` and `target`.
 *
 * It keeps the process running only while you wait for something: a call, `settled()`, `idle()`, an
 * expectation or an attempt. So a run also ends if a test failed before `close()`.
 *
 * @throws SettingsError when the settings are not valid, naming everything that is wrong
 * @throws TypeError when another option is wrong or unknown, or the target is not an application
 * @example
 * ```ts
 * const sender = await createTestSender({ target: app, path: "/hooks", secret: "secret" });
 * const receipt = await sender.track({ userId: "u1", event: "Signed Up" });
 * await sender.expect(receipt).delivered();
 * await sender.close();
 * ```
 */
export async function createTestSender(options: TestSenderOptions): Promise<TestSender> {
  checkSenderOptions(WHAT, options, [TARGET_FORM]);
  checkPorts(WHAT, options);
  // A test that fails before it closes the sender must end by itself.
  const { clock = systemClock({ keepAlive: false }) } = options;
  const faulty = faultyTransport(openTransport(WHAT, options));
  const underWay = new AttemptsUnderWay();
  const transport = underWay.watch(faulty);
  const tools = { clock, faulty, underWay };
  if (!("target" in options)) {
    const own = { ...options, clock, transport, blockPrivateNetworks: undefined, proxy: undefined };
    return withTools(await openSender(WHAT, own), tools);
  }
  const { target, path = "/", headers, secret: _, ...rest } = options;
  const ofTransport = givenForTransport(options);
  if (ofTransport !== undefined) {
    throw new TypeError(`${WHAT}({ target }) delivers to this machine: leave ${ofTransport} out.`);
  }
  assertPath(path);
  const replaced = await replacedTurns();
  // It would wait for ever for its port.
  if (replaced !== undefined) throw new TypeError(`${WHAT}({ target }) cannot open a port. ${replaced}`);
  const opened = await openTargets(target);
  const endpoints = opened.urls.map((url) => ({ url: new URL(path, url).href, headers }));
  const sources = [{ name: ONLY_SOURCE, destinations: [{ endpoints, ...secretOf(options) }] }];
  try {
    const sender = await openSender(WHAT, { ...rest, sources, clock, transport });
    return withTools(closingBoth(sender, opened), tools);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

const WHAT = "createTestSender";

/** What the tools of a test sender work with. */
interface ToolParts {
  readonly clock: Clock;
  readonly faulty: FaultyTransport;
  readonly underWay: AttemptsUnderWay;
}

function withTools(sender: Sender, { clock, faulty, underWay }: ToolParts): TestSender {
  const faults = new InjectedFaults();
  const inject: TestSender["inject"] = (fault, scope = {}) => {
    const injected = faulty.inject(fault, scope);
    faults.add(fault, scope, injected);
    return injected;
  };
  return Object.assign(sender, { expect: createExpect(sender, { clock, underWay, faults }), inject });
}

/** Targets that can be delivered to. */
interface OpenTargets {
  readonly urls: readonly string[];
  close(): Promise<void>;
}

async function openTargets(given: Target | readonly Target[]): Promise<OpenTargets> {
  const targets: readonly Target[] = Array.isArray(given) ? given : [given];
  if (targets.length === 0)
    throw new TypeError(`${WHAT}({ target }) is an empty list. Pass at least one application.`);
  const opened: OpenTarget[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((one) => one.close()));
  };
  try {
    for (const target of targets) opened.push(await openTarget(target));
  } catch (error) {
    await close();
    throw error;
  }
  return { urls: opened.map(({ url }) => url), close };
}

/** A sender whose `close()` closes its targets too. */
function closingBoth(sender: Sender, target: OpenTargets): Sender {
  const closeSender = sender.close.bind(sender);
  return Object.assign(sender, {
    // What is wrong with the options is thrown before anything is closed.
    close: (options?: CloseOptions): Promise<void> => closeThen(closeSender(options), target),
  });
}

async function closeThen(closing: Promise<void>, target: OpenTargets): Promise<void> {
  try {
    await closing;
  } finally {
    await target.close();
  }
}

/** What is sent to a target must not leave for somewhere else: URLs read a backslash as a slash, and skip a tab. */
function assertPath(path: string): void {
  const isPath = typeof path === "string" && /^\/(?!\/)/u.test(path);
  if (isPath && URL.canParse(path, ANY_BASE) && new URL(path, ANY_BASE).href.startsWith(ANY_BASE)) return;
  throw new TypeError(
    `${WHAT}({ path }) must be a path of the target that starts with one slash, such as "/hooks", not ${JSON.stringify(path)}.`,
  );
}
