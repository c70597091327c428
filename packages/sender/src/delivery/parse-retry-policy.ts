import { checkOptionNames } from "../options/option-names.ts";
import { defaultRetryPolicy, type RetryPolicy } from "./retry-policy.ts";

/**
 * A policy with the defaults filled in.
 *
 * @throws TypeError when a number makes no sense, or a field does not exist
 */
export function parseRetryPolicy(policy: Partial<RetryPolicy> = {}): RetryPolicy {
  const parsed = { ...defaultRetryPolicy };
  checkOptionNames("createSender({ retry })", policy, { ...defaultRetryPolicy });
  for (const name of Object.keys(policy).filter(isPolicyField)) {
    const value = policy[name];
    if (value === undefined) continue;
    if (typeof value !== "number" || !(value >= 0) || value === Number.POSITIVE_INFINITY) {
      throw new TypeError(`createSender({ retry: { ${name} } }) must be a number, at least 0.`);
    }
    parsed[name] = value;
  }
  if (parsed.minJitter > 1) throw new TypeError("createSender({ retry: { minJitter } }) must be at most 1.");
  return parsed;
}

function isPolicyField(name: string): name is keyof RetryPolicy {
  return Object.hasOwn(defaultRetryPolicy, name);
}
