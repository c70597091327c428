type Headers = Readonly<Record<string, string>>;

/** Headers, with others in place of those of the same name, however it is written. */
export function mergeHeaders(headers: Headers, others: Headers = {}): Headers {
  const replaced = new Set(Object.keys(others).map((name) => name.toLowerCase()));
  const kept = Object.entries(headers).filter(([name]) => !replaced.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), ...others };
}
