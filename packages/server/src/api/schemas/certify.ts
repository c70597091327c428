import { LANGUAGES } from "@countersign/certify";
import { ref, type Schema, type Schemas } from "../operation.ts";
import { TEXT, DATE_TIME, COUNT, NUMBER, TEXTS, HEADERS, JOB_STATE, object } from "./parts.ts";

const LEVEL: Schema = { type: "string", enum: ["MUST", "SHOULD"] };

const TALLY = object({ passed: COUNT, failed: COUNT, skipped: COUNT });

const CERTIFICATION = {
  id: TEXT,
  url: TEXT,
  state: JOB_STATE,
  startedAt: DATE_TIME,
  endedAt: DATE_TIME,
  total: COUNT,
  only: { ...TEXTS, description: "The ids of these audits, if they are not all that there are." },
  tally: object({ MUST: TALLY, SHOULD: TALLY }),
  passed: { type: "boolean" },
  error: TEXT,
};

const ABSENT_IN_CERTIFICATION = ["endedAt", "only", "passed", "error"];

/** The audits of a receiver. */
export const certifySchemas: Schemas = {
  Audit: object({ id: TEXT, level: LEVEL, title: TEXT }),
  AuditResult: object(
    {
      id: TEXT,
      level: LEVEL,
      title: TEXT,
      outcome: { type: "string", enum: ["passed", "failed", "skipped"] },
      durationMs: NUMBER,
      failure: object({ cause: TEXT, sent: TEXT, expected: TEXT, received: TEXT, fix: TEXT }),
      reason: TEXT,
    },
    ["failure", "reason"],
  ),
  CertificationSummary: object(CERTIFICATION, ABSENT_IN_CERTIFICATION),
  Certification: object(
    { ...CERTIFICATION, results: { type: "array", items: ref("AuditResult") } },
    ABSENT_IN_CERTIFICATION,
  ),
};

export const CERTIFY_BODY: Schema = object(
  {
    destination: { type: "string", description: "`<source>/<destination>`." },
    endpoint: { type: "string", description: "URL of one of its endpoints. Default: the first." },
    url: { type: "string", description: "A receiver that is not a destination." },
    secret: { type: "string", minLength: 1, description: "Default: that of the destination." },
    headers: HEADERS,
    ca: TEXT,
    only: { ...TEXTS, minItems: 1, description: "Ids of audits. Default: all." },
    language: { type: "string", enum: [...LANGUAGES], description: "Suggests fixes for it." },
  },
  ["destination", "endpoint", "url", "secret", "headers", "ca", "only", "language"],
);
