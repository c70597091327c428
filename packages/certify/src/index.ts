export type { Audit, AuditFailure, AuditLevel } from "./audit.ts";
export { audits } from "./audits.ts";
export { certify, type CertifyOptions } from "./certify.ts";
export type { Answer } from "./client.ts";
export { formatResult, formatSummary } from "./format-result.ts";
export {
  createProbe,
  type Delivery,
  type Exchange,
  type Probe,
  type ProbeOptions,
  type Transfer,
} from "./probe.ts";
export { ReceiverUnreachableError } from "./receiver-unreachable-error.ts";
export type { AuditResult, Report, Tally } from "./report.ts";
export { toJUnit } from "./to-junit.ts";
