/**
 * Whether a value has what a pattern asks for: objects may have more fields than asked, lists may not have more
 * elements. A regular expression matches text, and a matcher of Vitest or Jest decides by itself.
 */
export function matches(value: unknown, pattern: unknown): boolean {
  if (isMatcher(pattern)) {
    return pattern.asymmetricMatch(value);
  }
  if (pattern instanceof RegExp) {
    // A sticky or global one would continue after its last match.
    return typeof value === "string" && value.search(pattern) !== -1;
  }
  if (Array.isArray(pattern)) {
    return (
      Array.isArray(value) &&
      value.length === pattern.length &&
      pattern.every((element, index) => matches(value[index], element))
    );
  }
  if (isObject(pattern)) {
    return (
      isObject(value) &&
      Object.entries(pattern).every(([field, expected]) => matches(own(value, field), expected))
    );
  }
  return Object.is(value, pattern);
}

function own(value: Readonly<Record<string, unknown>>, field: string): unknown {
  return Object.hasOwn(value, field) ? value[field] : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isMatcher(value: unknown): value is { asymmetricMatch(value: unknown): boolean } {
  return isObject(value) && typeof value["asymmetricMatch"] === "function";
}
