import { audits, type Language } from "@countersign/certify";
import type { CertificationListener, CertificationRequest } from "../jobs/certifications.ts";
import { iso } from "../shapes/times.ts";
import { destinationFor } from "./lookups.ts";
import { assertWithout, found, Problem, problemAt } from "./problem.ts";
import { ref, type ApiContext, type Operation } from "./operation.ts";
import { CERTIFY_BODY } from "./schemas/certify.ts";
import { JOB_LIMIT } from "./schemas/parts.ts";

const NOT_FOUND = "Certification not found. The last twenty are kept.";

interface CertifyBody {
  readonly destination?: string;
  readonly endpoint?: string;
  readonly url?: string;
  readonly secret?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly ca?: string;
  readonly only?: readonly string[];
  readonly language?: Language;
}

/** Audits of receivers; each result is an event, too. */
export const certifyOperations: readonly Operation[] = [
  {
    method: "GET",
    path: "/audits",
    id: "listAudits",
    summary: "The audits, in the order in which they run.",
    description: "Pass some of their ids as `only` to `POST /api/certify` to run no others.",
    answer: { status: 200, schema: { type: "array", items: ref("Audit") } },
    handle: () => audits.map(({ id, level, title }) => ({ id, level, title })),
  },
  {
    method: "POST",
    path: "/certify",
    id: "startCertification",
    summary:
      "Starts the audits of a receiver: an endpoint of a `destination`, with its secret and headers, or a `url` with a `secret`.",
    description:
      "The receiver gets well over a hundred messages. Each result is an event `audit`, the end an event `certified`.",
    body: CERTIFY_BODY,
    answer: { status: 202, schema: ref("Certification") },
    errors: {
      404: "Destination or endpoint not found.",
      409: "Audits are running, or the server may not call private networks or has a proxy.",
      422: "Something is missing, such as the secret, or is given besides a `destination`, which has its own; or an audit does not exist.",
    },
    handle(context, { body }) {
      const { certifications, info } = context;
      if (info.onlyDeliveriesConnect !== undefined)
        throw new Problem(409, `${info.onlyDeliveriesConnect} For audits, use \`countersign certify\`.`);
      const given = body as CertifyBody;
      const request = requestOf(context, given);
      const { running } = certifications;
      if (running) throw new Problem(409, `${running.id} is still running. Wait for it, or DELETE it.`);
      return certifications.start(request, forgeryListener(context, given, request));
    },
  },
  {
    method: "GET",
    path: "/certifications",
    id: "listCertifications",
    summary: "The last twenty certifications of this process, newest first, each with its results so far.",
    description: "Those of earlier processes are not kept. `POST /api/certify` starts one.",
    query: { limit: JOB_LIMIT },
    answer: { status: 200, schema: { type: "array", items: ref("Certification") } },
    handle: ({ certifications }, { query }) => certifications.list(Number(query["limit"])),
  },
  {
    method: "GET",
    path: "/certifications/{id}",
    id: "getCertification",
    summary: "The results of a certification so far.",
    description: "`state` says whether audits still run, and `passed` how they ended.",
    answer: { status: 200, schema: ref("Certification") },
    errors: { 404: NOT_FOUND },
    handle: ({ certifications }, { params }) => found(certifications.find(params["id"] ?? ""), NOT_FOUND),
  },
  {
    method: "DELETE",
    path: "/certifications/{id}",
    id: "cancelCertification",
    summary: "Stops audits.",
    description: "The results so far stay. A certification that has ended stays as it is.",
    answer: { status: 200, schema: ref("Certification") },
    errors: { 404: NOT_FOUND },
    handle: ({ certifications }, { params }) => found(certifications.cancel(params["id"] ?? ""), NOT_FOUND),
  },
];

/** What audits show about forgeries, if they are of a destination and use the secret that it signs with. */
function forgeryListener(
  { forgeries, now }: ApiContext,
  { destination, secret, only }: CertifyBody,
  { url }: CertificationRequest,
): CertificationListener {
  if (destination === undefined || secret !== undefined) return {};
  return {
    onForgery: ({ id, failure }) =>
      forgeries.accepted({
        destination,
        url,
        fault: id,
        status: Number.parseInt(failure.received, 10),
        at: iso(now()),
      }),
    // Some audits alone do not show that the others pass.
    ...(only === undefined && { onPassed: () => forgeries.passed({ destination, url }) }),
  };
}

function requestOf(context: ApiContext, body: CertifyBody): CertificationRequest {
  const { destination: key, endpoint: endpointUrl, only, language } = body;
  const chosen = { only: only && checkedAudits(only), language };
  if (key === undefined) return { ...receiverOf(body), ...chosen };
  // Well over a hundred messages would go to another receiver than the one that the caller has named.
  assertWithout(body, ["url", "headers", "ca"], "destination");
  const destination = destinationFor(context, key);
  const endpoint = found(
    destination.endpoints.find(({ url }) => endpointUrl === undefined || url === endpointUrl),
    `The destination has no endpoint ${JSON.stringify(endpointUrl)}.`,
  );
  const secret = body.secret ?? destination.secret;
  if (secret === undefined) {
    throw problemAt(
      { pointer: "/secret" },
      "The destination has no secret, and audits send signed messages. Set one for the destination, or give a `secret`.",
    );
  }
  const { url, headers, ca } = endpoint;
  return { url, secret, headers, ca: ca && [ca].flat().join("\n"), ...chosen };
}

function receiverOf(body: CertifyBody): CertificationRequest {
  const { url, secret, headers, ca } = body;
  if (url !== undefined) assertWithout(body, ["endpoint"], "url");
  if (url === undefined)
    throw problemAt({ pointer: "/url" }, "Give a `destination`, or a `url` with its `secret`.");
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw problemAt({ pointer: "/url" }, "The `url` must be an http: or https: URL.");
  }
  if (secret === undefined || secret === "")
    throw problemAt({ pointer: "/secret" }, "Give the `secret` of the receiver.");
  return { url, secret, headers, ca };
}

function checkedAudits(only: readonly string[]): readonly string[] {
  const index = only.findIndex((id) => !audits.some((audit) => audit.id === id));
  if (index === -1) return only;
  throw problemAt(
    { pointer: `/only/${index}` },
    `There is no audit ${JSON.stringify(only[index])}. GET /api/audits lists them.`,
  );
}
