import type { Hints, Names } from "../options/option-names.ts";
import type { DestinationSettings, EndpointSettings, SenderSettings, SourceSettings } from "./settings.ts";

/** The names of settings, and what to say of some that are easily taken for one. */
export const settingsNames: Names<SenderSettings> = { sources: true };
export const sourceNames: Names<SourceSettings> = {
  name: true,
  writeKey: true,
  destinations: true,
  blockedEvents: true,
  countFiltered: true,
};
export const destinationNames: Names<DestinationSettings> = {
  name: true,
  endpoints: true,
  sharedSecret: true,
  enabled: true,
  concurrency: true,
};
export const endpointNames: Names<EndpointSettings> = { url: true, headers: true, ca: true };

export const destinationHints: Hints = { secret: "it is called sharedSecret here" };
export const endpointHints: Hints = {
  secret: "its destination has it, as sharedSecret",
  sharedSecret: "its destination has it",
};
