export { diagnose, type DiagnoseInput } from "./diagnose-signature.ts";
export type { Diagnosis, DiagnosisCode } from "./diagnosis.ts";
