export { diagnose, type DiagnoseInput } from "./verification/diagnose-signature.ts";
export type { Diagnosis, DiagnosisCode } from "./verification/diagnosis.ts";
