export { answerBrokenRequest, type BrokenRequestOptions } from "./broken-request.ts";
export { explainSignature, type Explanation, type ExplainInput } from "./verify/explain-signature.ts";
export { REJECTION_FIXES, SKIP_FIXES } from "./ingest/fixes.ts";
export type { RejectionReason } from "./ingest/rejections.ts";
