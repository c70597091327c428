import { randomBytes } from "node:crypto";
import type { SenderSettings } from "@countersign/sender";

/** Numbers the settings in force, so that a change can say which ones it was made from. */
export class SettingsVersions {
  readonly #run = randomBytes(5).toString("hex");
  #number = 0;
  #last: SenderSettings | undefined;

  /** The ETag of these settings, of which the sender makes a new object with each change. */
  etagOf(settings: SenderSettings): string {
    if (settings !== this.#last) this.#number += 1;
    this.#last = settings;
    return `"${this.#run}-${this.#number}"`;
  }
}
