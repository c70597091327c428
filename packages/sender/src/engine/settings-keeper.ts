import type { SenderSettings } from "../settings/settings.ts";
import { SettingsChangedError } from "../settings/settings-error.ts";
import { parseSettings, type Source } from "../settings/parse-settings.ts";
import type { SharedSettings } from "../store/delivery-store.ts";
import { StoreError } from "../store/store-error.ts";

/** Receives settings that are in force from now on. */
type Apply = (settings: SenderSettings, sources: readonly Source[]) => void;

/** Keeps the settings of a sender the same as those of the other processes on its store, where it has any. */
export class SettingsKeeper {
  readonly #shared: SharedSettings | undefined;
  readonly #failed: (error: Error) => void;
  #apply: Apply = () => {};
  #version = 0;
  #stop: () => void = () => {};

  /** `shared` is absent where one process owns the store; `failed` is told of settings that cannot be followed. */
  constructor(shared: SharedSettings | undefined, failed: (error: Error) => void) {
    this.#shared = shared;
    this.#failed = failed;
  }

  /**
   * The settings to start with. Those that are given replace the shared ones; without any, the shared ones count, and
   * nothing is sent until there are some.
   *
   * @throws SettingsError when they are not valid
   */
  async start(given: SenderSettings | undefined): Promise<SenderSettings> {
    const shared = this.#shared;
    if (shared === undefined) return given ?? { sources: [] };
    for (;;) {
      const current = await shared.get();
      this.#version = current?.version ?? 0;
      if (given === undefined) return current === undefined ? { sources: [] } : settingsOf(current.text);
      const text = textOf(given);
      if (current?.text === text) return given;
      try {
        this.#version = await shared.put(this.#version, text);
        return given;
      } catch (error) {
        if (!isChanged(error)) throw error;
      }
    }
  }

  /** Applies what other processes change, from now on. */
  follow(apply: Apply): void {
    this.#apply = apply;
    this.#stop = this.#shared?.watch(() => this.refresh()) ?? this.#stop;
    this.refresh();
  }

  /** Looks for settings that other processes have changed. */
  readonly refresh = (): void => {
    this.#read().catch((error: unknown) =>
      this.#failed(
        new Error("The shared settings cannot be followed; the last ones stay in force.", { cause: error }),
      ),
    );
  };

  /**
   * Replaces the settings everywhere.
   *
   * @throws SettingsError when they are not valid
   * @throws SettingsChangedError when another process has replaced them since
   */
  async update(settings: SenderSettings): Promise<void> {
    const sources = parseSettings(settings);
    if (this.#shared !== undefined) {
      const version = await this.#put(textOf(settings));
      // Another process may have been quicker since.
      if (version <= this.#version) return;
      this.#version = version;
    }
    this.#apply(settings, sources);
  }

  close(): void {
    this.#stop();
  }

  async #put(text: string): Promise<number> {
    try {
      return (await this.#shared?.put(this.#version, text)) ?? 0;
    } catch (error) {
      if (!isChanged(error)) throw error;
      await this.#read();
      throw new SettingsChangedError(
        "update(): another process has changed the settings. sender.settings has them now; make the change in those.",
      );
    }
  }

  async #read(): Promise<void> {
    const current = await this.#shared?.get();
    if (current === undefined || current.version <= this.#version) return;
    const settings = settingsOf(current.text);
    const sources = parseSettings(settings);
    this.#version = current.version;
    this.#apply(settings, sources);
  }
}

function textOf({ sources }: SenderSettings): string {
  return JSON.stringify({ sources });
}

function settingsOf(text: string): SenderSettings {
  // What is in them is checked like any settings: a newer version may have written them.
  return JSON.parse(text) as SenderSettings;
}

function isChanged(error: unknown): boolean {
  return error instanceof StoreError && error.code === "ERR_STORE_CHANGED";
}
