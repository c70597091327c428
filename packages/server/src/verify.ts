export { explainSignature, type Explanation, type ExplainInput } from "./verify/explain-signature.ts";
