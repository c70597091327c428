import type { DestinationSettings, Sender, SenderSettings, SourceSettings } from "@countersign/sender";
import { messageOf } from "../errors/server-error.ts";
import type { SettingsBook } from "../settings/settings-book.ts";
import { Problem } from "./problem.ts";
import {
  namedDestinations,
  sourceOf,
  withDestination,
  withoutDestination,
  withoutSource,
  withSource,
} from "../settings/settings-edit.ts";
import { HIDDEN, withHiddenHeaders, withKnownHeaders } from "../settings/hidden-headers.ts";
import { ref, type ApiContext, type Operation } from "./operation.ts";
import { bodies } from "./schemas.ts";

const NO_SOURCE = { 404: "Source not found." };
const INVALID = { 422: "The settings are invalid. The old settings still apply." };

/** Sources and destinations. A change that does not outlast the server says so in its answer. */
export const settingsOperations: readonly Operation[] = [
  {
    method: "GET",
    path: "/sources",
    id: "listSources",
    summary:
      "Every source with its destinations. Secrets, write keys and the values of static headers are not shown: `signed` says whether a secret is set.",
    answer: { status: 200, schema: { type: "array", items: ref("Source") } },
    handle: ({ sender, book }) => sender.settings.sources.map((source) => sourceJson(source, book)),
  },
  {
    method: "PUT",
    path: "/sources/{source}",
    id: "putSource",
    summary: "Adds a source, or changes one. Its destinations are not changed.",
    body: bodies.source,
    answer: { status: 200, schema: ref("Source") },
    errors: INVALID,
    handle(context, { params, body }) {
      const { settings } = context.sender;
      const name = params["source"] ?? "";
      const before = sourceOf(settings, name) ?? { name, destinations: [] };
      const { writeKey, ...given } = body as Partial<SourceSettings>;
      // What was read can be changed and sent back.
      const key = writeKey === HIDDEN ? before.writeKey : (writeKey ?? before.writeKey);
      if (writeKey === HIDDEN && key === undefined) {
        throw new Problem(422, "The write key is hidden, and this source had no write key. Pass its value.");
      }
      change(
        context,
        withSource(settings, { ...before, ...given, ...(key !== undefined && { writeKey: key }) }),
      );
      return changed(context, name);
    },
  },
  {
    method: "DELETE",
    path: "/sources/{source}",
    id: "deleteSource",
    summary: "Removes a source. Its pending deliveries wait until it is added again.",
    answer: { status: 200, schema: ref("Removed") },
    errors: { ...NO_SOURCE, 422: "The last source cannot be removed." },
    handle(context, { params }) {
      const { name } = existing(context.sender, params["source"]);
      change(context, withoutSource(context.sender.settings, name));
      return temporary(context, name);
    },
  },
  {
    method: "PUT",
    path: "/sources/{source}/destinations/{destination}",
    id: "putDestination",
    summary: "Adds a destination, or replaces the settings of one. Without `secret`, the old secret is kept.",
    body: bodies.destination,
    answer: { status: 200, schema: ref("Source") },
    errors: { ...NO_SOURCE, ...INVALID },
    handle(context, { params, body }) {
      const { sender } = context;
      const source = existing(sender, params["source"]);
      const name = params["destination"] ?? "";
      const { secret: given, ...settings } = body as Omit<DestinationSettings, "secret"> & {
        readonly secret?: string | null;
      };
      const before = namedDestinations(source).find((destination) => destination.name === name);
      const secret = given === undefined ? before?.secret : (given ?? undefined);
      const endpoints = withKnownHeaders(settings.endpoints, before?.endpoints ?? []);
      if (typeof endpoints === "string") {
        throw new Problem(
          422,
          `The value of the header ${JSON.stringify(endpoints)} is hidden, and this URL had no such header. Pass its value.`,
        );
      }
      const destination = { ...settings, endpoints, name, ...(secret !== undefined && { secret }) };
      change(context, withSource(sender.settings, withDestination(source, destination)));
      return changed(context, source.name);
    },
  },
  {
    method: "DELETE",
    path: "/sources/{source}/destinations/{destination}",
    id: "deleteDestination",
    summary: "Removes a destination. Its pending deliveries wait until it is added again.",
    answer: { status: 200, schema: ref("Removed") },
    errors: NO_SOURCE,
    handle(context, { params }) {
      const { sender } = context;
      const source = existing(sender, params["source"]);
      const name = params["destination"] ?? "";
      if (!namedDestinations(source).some((destination) => destination.name === name)) {
        throw new Problem(
          404,
          `Source ${JSON.stringify(source.name)} has no destination ${JSON.stringify(name)}.`,
        );
      }
      change(context, withSource(sender.settings, withoutDestination(source, name)));
      return temporary(context, source.name);
    },
  },
];

function existing(sender: Sender, name = ""): SourceSettings {
  const source = sourceOf(sender.settings, name);
  if (!source)
    throw new Problem(404, `Source ${JSON.stringify(name)} not found. PUT /api/sources/NAME adds one.`);
  return source;
}

/** Puts settings in force and saves them. If they cannot be saved, the old ones stay in force. */
function change({ sender, book }: ApiContext, settings: SenderSettings): void {
  const before = sender.settings;
  sender.configure(settings);
  try {
    book.save(settings.sources);
  } catch (error) {
    sender.configure(before);
    throw new Problem(503, messageOf(error));
  }
}

function changed(context: ApiContext, name: string): object {
  return { ...sourceJson(existing(context.sender, name), context.book), ...temporary(context, name) };
}

/** Tells the caller if the change is gone after a restart. */
function temporary({ book }: ApiContext, name: string): { readonly note?: string } {
  const note = book.whyTemporary(name);
  return note === undefined ? {} : { note };
}

function sourceJson(source: SourceSettings, book: SettingsBook): object {
  const { name, blockedEvents = [], countFiltered = false } = source;
  // A key that was given is a credential. Without one the key is the name, which is known anyway.
  const writeKey = (source.writeKey ?? name) === name ? name : HIDDEN;
  const destinations = namedDestinations(source).map(({ secret, enabled = true, ...destination }) => ({
    ...destination,
    endpoints: destination.endpoints.map(withHiddenHeaders),
    signed: secret !== undefined,
    enabled,
  }));
  return { name, writeKey, destinations, blockedEvents, countFiltered, managedBy: book.managerOf(name) };
}
