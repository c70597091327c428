import { randomBytes } from "node:crypto";
import type { Sender, SenderSettings } from "@countersign/sender";

/** Numbers the settings in force, so that a change can say which ones it was made from. */
export class SettingsVersions {
  readonly #run = randomBytes(5).toString("hex");
  #number = 0;
  #last: SenderSettings | undefined;

  /**
   * The ETag of the settings in force. Those that processes share have the same one on every server: a change may reach another
   * server than the one that it was read from. For others, the sender makes a new object with each change.
   */
  etagOf({ settings, settingsVersion }: Pick<Sender, "settings" | "settingsVersion">): string {
    if (settingsVersion !== undefined) return `"store-${settingsVersion}"`;
    if (settings !== this.#last) this.#number += 1;
    this.#last = settings;
    return `"${this.#run}-${this.#number}"`;
  }

  /**
   * Whether `If-Match` names the settings in force. Proxies that compress responses change the ETag of what they compress:
   * nginx, HAProxy and Varnish make it a weak one, Apache adds `-gzip`. The settings that it names are the same.
   */
  isCurrent(sender: Pick<Sender, "settings" | "settingsVersion">, ifMatch: string): boolean {
    const current = this.etagOf(sender);
    return ifMatch.split(",").some((tag) => asGiven(tag.trim()) === current);
  }

  /** A change has failed, and the settings `before` it were put back: in a new object, but with the ETag that they had. */
  putBack({ settings }: Pick<Sender, "settings">, before: SenderSettings): void {
    if (this.#last === before) this.#last = settings;
  }
}

/** An ETag without what a proxy made of it. Our own end in a digit. */
function asGiven(tag: string): string {
  return tag.replace(/^W\//, "").replace(/(?<=\d)(?:-+|;)(?:gzip|br|deflate|zstd)"$/, '"');
}
