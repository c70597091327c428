import { messageOf } from "@countersign/protocol";
import { parseRetryPolicy, type RetryPolicy } from "../delivery/retry-policy.ts";
import { keptSettings, withKept } from "../settings/kept-settings.ts";
import type { SenderSettings } from "../settings/settings.ts";
import { SettingsChangedError } from "../settings/settings-error.ts";
import { parseSettings, type Source } from "../settings/parse-settings.ts";
import type { DeliveryStore, SharedSettings } from "../store/delivery-store.ts";
import { StoreError } from "../store/store-error.ts";

/** What it needs of a store. */
type StoreOfSettings = Pick<DeliveryStore, "settings" | "refuses">;

/** Receives settings that apply from now on. */
type Apply = (settings: SenderSettings, sources: readonly Source[]) => void;

/**
 * What processes share: the settings, which sources a process was started with, so that they are managed there, and when that one has
 * deliveries tried again: it need not be one that delivers. Without `retry`, nobody was given a policy yet, or an older version
 * wrote this, which knows of none: the one that is known stays. A policy that is withdrawn is `{}`.
 */
interface Shared extends SenderSettings {
  readonly given: readonly string[];
  readonly retry?: Partial<RetryPolicy> | undefined;
}

/** Keeps the settings of a sender the same as those of the other processes on its store, where it has any. */
export class SettingsKeeper {
  readonly #store: StoreOfSettings;
  readonly #shared: SharedSettings | undefined;
  readonly #failed: (error: Error) => void;
  readonly #own: Partial<RetryPolicy> | undefined;
  #followed: Apply | undefined;
  #inForce: () => SenderSettings = () => ({ sources: [] });
  #version = 0;
  /** The text of that version. */
  #text: string | undefined;
  /** How often an answer of the store was asked for, and until which of them it has answered. */
  #asked = 0;
  #answered = 0;
  #given: readonly string[] = [];
  #retry: Partial<RetryPolicy> | undefined;
  #followsRetry = true;
  #stop: () => void = () => {};

  /**
   * `store` has no settings where one process owns it; `failed` is told of settings that cannot be followed. `own` is the policy
   * that this sender was given.
   */
  constructor(store: StoreOfSettings, failed: (error: Error) => void, own: Partial<RetryPolicy> | undefined) {
    this.#store = store;
    this.#shared = store.settings;
    this.#failed = failed;
    this.#own = own;
    this.policy = parseRetryPolicy("createSender", own);
  }

  /** When deliveries are tried again. */
  policy: RetryPolicy;

  /** The version of the settings that processes share, which counts their changes; undefined where one process owns the store. */
  get version(): number | undefined {
    return this.#shared === undefined ? undefined : this.#version;
  }

  /**
   * The settings to start with. Those that are given take precedence for the sources that they name. A source that was added
   * later stays; one that an earlier process was started with, and this one is not, goes. Without any that are given, the
   * shared ones count, and nothing is sent until there are some. The policy comes and goes with those that are given; a sender
   * without any follows the shared one, unless it was given its own.
   *
   * @throws SettingsError when they are not valid
   */
  async start(given: SenderSettings | undefined): Promise<SenderSettings> {
    const shared = this.#shared;
    if (shared === undefined) return given ?? { sources: [] };
    for (;;) {
      const current = await shared.get();
      this.#version = current?.version ?? 0;
      this.#text = current?.text;
      const before = current === undefined ? { sources: [], given: [] } : sharedOf(current.text);
      this.#given = before.given;
      if (given === undefined) {
        this.#followsRetry = this.#own === undefined;
        this.#follow(before.retry);
        return { sources: before.sources };
      }
      const retry = this.#own ?? (before.retry && {});
      const next = { ...startedWith(given, before), ...(retry && { retry }) };
      const text = JSON.stringify(next);
      try {
        if (current?.text !== text) this.#version = await shared.put(this.#version, text);
      } catch (error) {
        if (!isChanged(error)) throw error;
        continue;
      }
      this.#text = text;
      this.#given = next.given;
      this.#retry = retry;
      warnOfReplaced(before, next);
      return { sources: next.sources };
    }
  }

  /**
   * Passes on, from now on, the settings that another process has put.
   *
   * @param inForce The settings that apply now: what has not changed since is not checked again.
   */
  follow(followed: Apply, inForce: () => SenderSettings): void {
    this.#followed = followed;
    this.#inForce = inForce;
    this.#stop = this.#shared?.watch(() => this.refresh()) ?? this.#stop;
    this.refresh();
  }

  /** Looks for settings that other processes have changed. */
  readonly refresh = (): void => {
    this.#read().catch((error: unknown) => {
      const why = messageOf(error);
      const text = `The shared settings cannot be followed; the last ones stay in force. ${why}`;
      this.#failed(new Error(text, { cause: error }));
    });
  };

  /**
   * Replaces the settings everywhere; applies them here, unless another process has been quicker.
   *
   * @throws SettingsError when they are not valid
   * @throws SettingsChangedError when another process has replaced them since
   */
  async update(settings: SenderSettings, apply: Apply): Promise<void> {
    const sources = parseSettings(settings, this.#store);
    // What the caller changes in them meanwhile was not checked.
    const kept = keptSettings(settings, sources);
    if (this.#shared !== undefined) {
      const text = JSON.stringify({ sources: kept.sources, given: this.#given, retry: this.#retry });
      const version = await this.#put(text);
      // Another process may have been quicker since.
      if (version <= this.#version) return;
      this.#version = version;
      this.#text = text;
    }
    apply(kept, sources);
  }

  close(): void {
    this.#stop();
  }

  /** @throws TypeError when it is not valid: a newer version may have written it */
  #follow(retry: Partial<RetryPolicy> | undefined): void {
    if (this.#followsRetry) this.policy = parseRetryPolicy("settings", retry);
    this.#retry = retry;
  }

  async #put(text: string): Promise<number> {
    try {
      const version = (await this.#shared?.put(this.#version, text)) ?? 0;
      // What was asked for until now may be of before.
      this.#answered = this.#asked += 1;
      return version;
    } catch (error) {
      if (!isChanged(error)) throw error;
      await this.#read();
      throw new SettingsChangedError(
        "update(): another process has changed the settings. sender.settings has them now; make the change in those.",
      );
    }
  }

  /** A version may be older than the one that is known: a database that lacks its last changes has become the primary. */
  async #read(): Promise<void> {
    const asked = (this.#asked += 1);
    const current = await this.#shared?.get();
    // What was asked for later was answered first: this answer may be of before.
    if (asked < this.#answered) return this.#read();
    this.#answered = asked;
    // Before it follows, `start()` decides what is in force, whatever a store that is being opened has told.
    if (this.#followed === undefined) return;
    if (current?.version === this.#version && current.text === this.#text) return;
    if (current === undefined) {
      // There is nothing to follow. What is in force stays, and the next change is the first.
      this.#version = 0;
      this.#text = undefined;
      return;
    }
    const { given, retry = this.#retry, ...read } = sharedOf(current.text);
    const settings = withKept(read, this.#inForce());
    const sources = parseSettings(settings, this.#store);
    this.#follow(retry);
    this.#version = current.version;
    this.#text = current.text;
    this.#given = given;
    this.#followed(settings, sources);
  }
}

/** What is in them is checked like any settings: a newer version may have written them. */
function sharedOf(text: string): Shared {
  return { given: [], ...(JSON.parse(text) as SenderSettings) };
}

function startedWith({ sources }: SenderSettings, before: Shared): Shared {
  const given = sources.map(({ name }) => name);
  const notAdded = new Set([...given, ...before.given]);
  const all = { sources: [...sources, ...before.sources.filter(({ name }) => !notAdded.has(name))] };
  try {
    return { ...keptSettings(all, parseSettings(all)), given };
  } catch {
    // A source that was added may conflict with one that is given: it may have the same write key.
    return { sources, given };
  }
}

/** A sender that is just being created has no listeners. */
function warnOfReplaced(before: Shared, { sources, retry }: Shared): void {
  const next = new Map(sources.map((source) => [source.name, JSON.stringify(source)]));
  const namesOf = (matches: (name: string, text: string) => boolean): string =>
    before.sources
      .filter((source) => matches(source.name, JSON.stringify(source)))
      .map(({ name }) => JSON.stringify(name))
      .join(", ");
  const removed = namesOf((name) => !next.has(name));
  const changed = namesOf((name, text) => next.has(name) && next.get(name) !== text);
  const isFirst = before.sources.length === 0;
  const policy =
    isFirst || JSON.stringify(before.retry ?? {}) === JSON.stringify(retry ?? {})
      ? ""
      : "changed when deliveries are tried again";
  if (removed + changed + policy === "") return;
  const parts = [removed && `removed ${removed}`, changed && `replaced ${changed}`, policy].filter(
    (part) => part !== "",
  );
  process.emitWarning(
    `The settings of this sender take precedence over those in the store: ${parts.join(", and ")}. Start all processes with the same sources and the same retry policy.`,
    { code: "COUNTERSIGN_SETTINGS_REPLACED" },
  );
}

function isChanged(error: unknown): boolean {
  return error instanceof StoreError && error.code === "ERR_STORE_CHANGED";
}
