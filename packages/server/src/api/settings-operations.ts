import type { DestinationSettings, Sender, SourceSettings } from "@countersign/sender";
import { Problem } from "./problem.ts";
import {
  namedDestinations,
  sourceOf,
  withDestination,
  withoutDestination,
  withoutSource,
  withSource,
} from "../settings/settings-edit.ts";
import { ref, type Operation } from "./operation.ts";
import { bodies } from "./schemas.ts";

const NO_SOURCE = { 404: "There is no such source." };
const INVALID = { 422: "The settings are not valid; the old ones stay in force." };

/** Sources and destinations. Changes hold until the server stops; what is to stay belongs in the config file. */
export const settingsOperations: readonly Operation[] = [
  {
    method: "GET",
    path: "/sources",
    id: "listSources",
    summary:
      "Every source with its destinations. Shared secrets are not shown: `signed` says whether there is one.",
    answer: { status: 200, schema: { type: "array", items: ref("Source") } },
    handle: ({ sender }) => sender.settings.sources.map(sourceJson),
  },
  {
    method: "PUT",
    path: "/sources/{source}",
    id: "putSource",
    summary: "Makes a source, or changes one. Its destinations stay as they are.",
    body: bodies.source,
    answer: { status: 200, schema: ref("Source") },
    errors: INVALID,
    handle({ sender }, { params, body }) {
      const name = params["source"] ?? "";
      const before = sourceOf(sender.settings, name) ?? { name, destinations: [] };
      sender.configure(withSource(sender.settings, { ...before, ...(body as Partial<SourceSettings>) }));
      return shown(sender, name);
    },
  },
  {
    method: "DELETE",
    path: "/sources/{source}",
    id: "deleteSource",
    summary: "Takes a source away. Its pending deliveries wait, in case it comes back.",
    answer: { status: 204 },
    errors: { ...NO_SOURCE, 422: "The last source cannot be taken away." },
    handle({ sender }, { params }) {
      const { name } = existing(sender, params["source"]);
      sender.configure(withoutSource(sender.settings, name));
    },
  },
  {
    method: "PUT",
    path: "/sources/{source}/destinations/{destination}",
    id: "putDestination",
    summary: "Makes a destination, or replaces the settings of one. Without `secret` the old one stays.",
    body: bodies.destination,
    answer: { status: 200, schema: ref("Source") },
    errors: { ...NO_SOURCE, ...INVALID },
    handle({ sender }, { params, body }) {
      const source = existing(sender, params["source"]);
      const name = params["destination"] ?? "";
      const { secret: given, ...settings } = body as Omit<DestinationSettings, "secret"> & {
        readonly secret?: string | null;
      };
      const before = namedDestinations(source).find((destination) => destination.name === name);
      const secret = given === undefined ? before?.secret : (given ?? undefined);
      const destination = { ...settings, name, ...(secret !== undefined && { secret }) };
      sender.configure(withSource(sender.settings, withDestination(source, destination)));
      return shown(sender, source.name);
    },
  },
  {
    method: "DELETE",
    path: "/sources/{source}/destinations/{destination}",
    id: "deleteDestination",
    summary: "Takes a destination away. Its pending deliveries wait, in case it comes back.",
    answer: { status: 204 },
    errors: NO_SOURCE,
    handle({ sender }, { params }) {
      const source = existing(sender, params["source"]);
      const name = params["destination"] ?? "";
      if (!namedDestinations(source).some((destination) => destination.name === name)) {
        throw new Problem(
          404,
          `Source ${JSON.stringify(source.name)} has no destination ${JSON.stringify(name)}.`,
        );
      }
      sender.configure(withSource(sender.settings, withoutDestination(source, name)));
    },
  },
];

function existing(sender: Sender, name = ""): SourceSettings {
  const source = sourceOf(sender.settings, name);
  if (!source)
    throw new Problem(404, `There is no source ${JSON.stringify(name)}. PUT /api/sources/NAME makes one.`);
  return source;
}

function shown(sender: Sender, name: string): object {
  return sourceJson(existing(sender, name));
}

function sourceJson(source: SourceSettings): object {
  const { name, writeKey = name, blockedEvents = [], countFiltered = false } = source;
  const destinations = namedDestinations(source).map(({ secret, enabled = true, ...destination }) => ({
    ...destination,
    signed: secret !== undefined,
    enabled,
  }));
  return { name, writeKey, destinations, blockedEvents, countFiltered };
}
