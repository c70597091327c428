import { isDeepStrictEqual } from "node:util";
import type { DestinationSettings, SenderSettings, SourceSettings } from "@countersign/sender";
import { parseJson } from "@countersign/protocol";
import { configFile } from "../settings/config-file.ts";
import { change, tellETag } from "./change-settings.ts";
import { sourceFor } from "./lookups.ts";
import { assertFresh } from "./preconditions.ts";
import { pointerPart, Problem, problemAt } from "./problem.ts";
import { namedDestinations, sourceOf, type NamedDestination } from "../settings/find-settings.ts";
import { withDestination, withoutDestination, withoutSource, withSource } from "../settings/settings-edit.ts";
import { HIDDEN, withKnownHeaders } from "../settings/hidden-headers.ts";
import { sourceJson, type SourceJson } from "../settings/source-json.ts";
import { ref, type ApiContext, type Operation, type OperationInput } from "./operation.ts";
import { TEXT } from "./schemas/parts.ts";
import { DESTINATION_BODY, SOURCE_BODY } from "./schemas/settings.ts";

const NO_SOURCE = { 404: "Source not found." };
const STALE = { 412: "The settings have changed since they were read with this ETag." };
const UNMET = {
  412: "The settings have changed since they were read with this ETag. Or `If-Match: *` is to change what is not there, or `If-None-Match: *` to add what is.",
};
const UNSAVED = { 503: "The settings cannot be saved. The old ones still apply." };
const INVALID = {
  ...UNMET,
  ...UNSAVED,
  422: "The settings are invalid. The old settings still apply.",
};

/** Sources and destinations. A change that does not outlast the server says so in its answer. */
export const settingsOperations: readonly Operation[] = [
  {
    method: "GET",
    path: "/sources",
    id: "listSources",
    summary: "Every source with its destinations, and an ETag for all of them.",
    description:
      "Secrets, write keys and the values of static headers are not shown: `signed` says whether a secret is set. Send the ETag as `If-Match` with a change, so that it does not overwrite another one.",
    answer: { status: 200, schema: { type: "array", items: ref("Source") }, headers: ["ETag"] },
    handle(context, { reply }) {
      tellETag(context, reply);
      return context.sender.settings.sources.map((source) => sourceJson(source, context.book));
    },
  },
  {
    method: "GET",
    path: "/config",
    id: "getConfigFile",
    summary: "The sources as a `countersign.config.ts`.",
    description:
      "Secrets, write keys and the values of static headers are not in it: it reads each from an environment variable.",
    answer: { status: 200, schema: TEXT, type: "text/plain; charset=utf-8" },
    handle({ sender, book }, { reply }) {
      reply.type("text/plain; charset=utf-8");
      return configFile(sender.settings.sources.map((source) => sourceJson(source, book)));
    },
  },
  {
    method: "PUT",
    path: "/sources/{source}",
    id: "putSource",
    summary: "Adds a source, or changes one.",
    description:
      "What is left out stays as it is, and its destinations have operations of their own. `note` says if the change ends with the server.",
    headers: ["If-Match", "If-None-Match"],
    body: SOURCE_BODY,
    answer: { status: 200, schema: ref("Source"), headers: ["ETag"] },
    errors: INVALID,
    async handle(context, input) {
      assertFresh(context, input);
      const { settings } = context.sender;
      const name = input.params["source"] ?? "";
      const before = sourceOf(settings, name) ?? { name, destinations: [] };
      const { writeKey, blockedEvents, countFiltered, ...read } = input.body as SourceBody;
      const now = sourceJson(before, context.book);
      assertAsRead("name", read.name, name, NAME_STAYS);
      assertAsRead("managedBy", read.managedBy, now.managedBy, "This is not a setting. Leave it out.");
      assertAsRead(
        "destinations",
        read.destinations,
        now.destinations,
        `These are not the destinations that the source has. Leave them out, and change each with PUT /api/sources/${encodeURIComponent(name)}/destinations/NAME.`,
      );
      const key = writeKey === HIDDEN ? before.writeKey : (writeKey ?? before.writeKey);
      if (writeKey === HIDDEN && key === undefined) {
        throw problemAt(
          { pointer: "/writeKey" },
          "The write key is hidden, and this source had no write key. Pass its value.",
        );
      }
      const source = {
        ...before,
        ...(blockedEvents && { blockedEvents }),
        ...(countFiltered !== undefined && { countFiltered }),
        ...(key !== undefined && { writeKey: key }),
      };
      const next = withSource(settings, source);
      await change(context, input, { next, source: name, prefix: sourcePath(next, name) });
      return changed(context, name);
    },
  },
  {
    method: "DELETE",
    path: "/sources/{source}",
    id: "deleteSource",
    summary: "Removes a source.",
    description:
      "Its pending deliveries wait until it is added again. `note` says if it comes back when the server starts again.",
    headers: ["If-Match"],
    answer: { status: 200, schema: ref("Removed"), headers: ["ETag"] },
    errors: { ...NO_SOURCE, ...STALE, ...UNSAVED, 422: "The last source cannot be removed." },
    async handle(context, input) {
      assertFresh(context, input);
      const { name } = sourceFor(context, input.params["source"] ?? "");
      await change(context, input, {
        next: withoutSource(context.sender.settings, name),
        source: name,
        removed: true,
      });
      return temporary(context, name);
    },
  },
  {
    method: "PUT",
    path: "/sources/{source}/destinations/{destination}",
    id: "putDestination",
    summary: "Adds a destination, or replaces the settings of one.",
    description:
      "Without `secret`, the old secret is kept; null removes it. A value of a header that is sent back as `(hidden)` is kept, too.",
    headers: ["If-Match", "If-None-Match"],
    body: DESTINATION_BODY,
    answer: { status: 200, schema: ref("Source"), headers: ["ETag"] },
    errors: { ...NO_SOURCE, ...INVALID },
    async handle(context, input) {
      assertFresh(context, input);
      const { settings } = context.sender;
      const source = sourceFor(context, input.params["source"] ?? "");
      const destination = destinationFrom(input, source);
      const withIt = withDestination(source, destination);
      const index = withIt.destinations.findIndex(({ name }) => name === destination.name);
      const next = withSource(settings, withIt);
      const prefix = `${sourcePath(next, source.name)}.destinations[${index}]`;
      await change(context, input, { next, source: source.name, prefix });
      return changed(context, source.name);
    },
  },
  {
    method: "DELETE",
    path: "/sources/{source}/destinations/{destination}",
    id: "deleteDestination",
    summary: "Removes a destination.",
    description:
      "Its pending deliveries wait until it is added again. `note` says if it comes back when the server starts again.",
    headers: ["If-Match"],
    answer: { status: 200, schema: ref("Removed"), headers: ["ETag"] },
    errors: { ...NO_SOURCE, ...STALE, ...UNSAVED },
    async handle(context, input) {
      assertFresh(context, input);
      const source = sourceFor(context, input.params["source"] ?? "");
      const name = input.params["destination"] ?? "";
      if (!namedDestinations(source).some((destination) => destination.name === name)) {
        throw new Problem(
          404,
          `Source ${JSON.stringify(source.name)} has no destination ${JSON.stringify(name)}.`,
        );
      }
      const next = withSource(context.sender.settings, withoutDestination(source, name));
      await change(context, input, { next, source: source.name });
      return temporary(context, source.name);
    },
  },
];

const NAME_STAYS =
  "This is not the name in the path, and a name cannot be changed. Leave it out, or put the other name into the path.";

/** Refuses another value of what is only read: to ignore it would look as if it had been changed. */
function assertAsRead(field: string, given: unknown, now: unknown, advice: string): void {
  if (given === undefined || isDeepStrictEqual(given, parseJson(JSON.stringify(now)))) return;
  throw problemAt({ pointer: `/${field}` }, advice);
}

/** The body of a change of a source: what was read of it, with what is to be another, can be sent back. */
type SourceBody = Partial<SourceJson>;

/** The body of a change of a destination: what was read of it, with what is to be another, can be sent back. */
type DestinationBody = Omit<DestinationSettings, "secret"> & {
  readonly secret?: string | null;
  readonly signed?: boolean;
};

/** The destination that a body describes: what is hidden in it, or left out, is as it was. */
function destinationFrom({ params, body }: OperationInput, source: SourceSettings): NamedDestination {
  const name = params["destination"] ?? "";
  const { name: itsName, secret: given, signed, ...settings } = body as DestinationBody;
  assertAsRead("name", itsName, name, NAME_STAYS);
  const before = namedDestinations(source).find((destination) => destination.name === name);
  const secret = given === undefined ? before?.secret : (given ?? undefined);
  if (given === undefined && signed !== undefined && signed !== (secret !== undefined)) {
    throw problemAt(
      { pointer: "/signed" },
      signed
        ? "There is no secret to sign with. Pass it as `secret`."
        : "There is a secret, so messages are signed. To remove it, pass null as `secret`.",
    );
  }
  const endpoints = settings.endpoints.map((endpoint, index) =>
    withKnownHeaders(endpoint, before?.endpoints ?? [], (header) => {
      throw problemAt(
        { pointer: `/endpoints/${index}/headers/${pointerPart(header)}` },
        `The value of the header ${JSON.stringify(header)} is hidden, and this URL had no such header. Pass its value.`,
      );
    }),
  );
  return { ...settings, endpoints, name, ...(secret !== undefined && { secret }) };
}

function sourcePath({ sources }: SenderSettings, name: string): string {
  return `sources[${sources.findIndex((source) => source.name === name)}]`;
}

function changed(context: ApiContext, name: string): object {
  return { ...sourceJson(sourceFor(context, name), context.book), ...temporary(context, name) };
}

/** Tells the caller if the change is gone after a restart. */
function temporary({ book }: ApiContext, name: string): { readonly note?: string } {
  const note = book.whyTemporary(name);
  return note === undefined ? {} : { note };
}
