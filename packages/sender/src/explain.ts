export { adviceFor, type Advice, type AdviceContext } from "./explain/advice.ts";
export { answerLine, answerText } from "./explain/answer.ts";
export type { AttemptFacts, ExplainContext } from "./explain/attempt-facts.ts";
export { noAnswer, NO_ANSWER_CODES, type NoAnswer } from "./explain/no-answer-codes.ts";
export { budgetText, durationText, isSlow, ordinal, shortId } from "./explain/texts.ts";
export { ACCEPTED_FORGERY, verdictOf, type Verdict } from "./explain/verdict.ts";
export { isForgery, verdictKindOf, type VerdictKind } from "./explain/verdict-kind.ts";
export { whyOf, type DeliveryFacts, type WhyContext } from "./explain/why.ts";
export { FAULTS, type Fault } from "./faults/fault.ts";
