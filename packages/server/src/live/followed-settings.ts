import { isDeepStrictEqual } from "node:util";
import type { Sender, SenderSettings } from "@countersign/sender";
import type { SettingsVersions } from "../settings/settings-versions.ts";
import type { LiveEvents } from "./live-events.ts";

/** Tells each source that another process on the same store has changed, added or removed. */
export function tellFollowedSettings(sender: Sender, events: LiveEvents, versions: SettingsVersions): void {
  sender.on("settings", ({ before, settings }) => {
    const etag = versions.etagOf(sender);
    const [old, now] = [byName(before), byName(settings)];
    for (const [source, value] of now) {
      if (!isDeepStrictEqual(old.get(source), value)) events.tell({ event: "settings", etag, source });
    }
    for (const source of old.keys()) {
      if (!now.has(source)) events.tell({ event: "settings", etag, source, removed: true });
    }
  });
}

function byName({ sources }: SenderSettings): ReadonlyMap<string, unknown> {
  return new Map(sources.map((source) => [source.name, source]));
}
