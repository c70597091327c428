const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = /\s*:/y;

/**
 * Whether `JSON.parse` may take a key with an escape, such as `"caf\u00e9"`, for one with a backslash, `"caf\\"`, if an earlier text had
 * that one at the same place. It does since Node 23 (nodejs/node#63785). Anybody who can have a text parsed could so change what is read
 * of later ones. To ask takes a microsecond.
 */
export function misreadsKeys(): boolean {
  // No other text has a second key at this place.
  JSON.parse('{"countersign":0,"\\\\":0}');
  return !('"' in (JSON.parse('{"countersign":0,"\\"":0}') as object));
}

let isMisreading: boolean | undefined;

/**
 * The value of a text of JSON, with the keys that stand in it, also where {@link misreadsKeys}.
 *
 * @throws SyntaxError if it is not JSON.
 */
export function parseJson(text: string): unknown {
  isMisreading ??= misreadsKeys();
  return isMisreading ? parseAsWritten(text) : JSON.parse(text);
}

/**
 * What {@link parseJson} does where `JSON.parse` misreads keys: it gives that keys without escapes.
 *
 * @throws SyntaxError if it is not JSON.
 */
export function parseAsWritten(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const { keys, between } = splitAtKeys(text);
  if (keys.length === 0) return value;
  const names = new Map<string, string>();
  // No text can have it, neither by accident nor on purpose.
  const mark = crypto.randomUUID();
  let plain = "";
  // A text alone is read as it is written.
  for (const [index, name] of (JSON.parse(`[${keys.join(",")}]`) as string[]).entries()) {
    let key = JSON.stringify(name);
    if (key.includes("\\")) {
      names.set(mark + index, name);
      key = `"${mark}${index}"`;
    }
    plain += between[index] + key;
  }
  const whole: unknown[] = [JSON.parse(plain + between.at(-1))];
  if (names.size > 0) rename(whole, names);
  return whole[0];
}

/** The keys of a text that have an escape, and what is before, between and behind them. */
function splitAtKeys(text: string): { readonly keys: string[]; readonly between: string[] } {
  const keys: string[] = [];
  const between: string[] = [];
  let copied = 0;
  // Only strings with escapes are looked at, from their first escape on: a body may be large.
  for (let at = text.indexOf("\\"); at !== -1;) {
    const end = endOfString(text, at);
    COLON.lastIndex = end;
    if (COLON.test(text)) {
      const start = text.lastIndexOf('"', at);
      keys.push(text.slice(start, end));
      between.push(text.slice(copied, start));
      copied = end;
    }
    at = text.indexOf("\\", end);
  }
  return { keys, between: [...between, text.slice(copied)] };
}

/** The place behind the string in which a place is, in JSON. */
function endOfString(text: string, inside: number): number {
  let at = inside;
  for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at))
    at += code === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** Gives keys their names, wherever they are in a list: a value may nest as deep as its text. */
function rename(whole: unknown[], names: ReadonlyMap<string, string>): void {
  const waiting: object[] = [whole];
  // It grows meanwhile.
  for (const fields of waiting)
    for (const key of Array.isArray(fields) ? fields.keys() : Object.keys(fields)) {
      const field: unknown = Reflect.get(fields, key);
      if (typeof field !== "object" || field === null) continue;
      const named = Array.isArray(field) ? field : withNames(field, names);
      // A field of its own is set, also `__proto__`.
      if (named !== field) Reflect.set(fields, key, named);
      waiting.push(named);
    }
}

/** The object itself if no key has another name. To delete keys would take much longer than to write them. */
function withNames(object: object, names: ReadonlyMap<string, string>): object {
  if (!Object.keys(object).some((key) => names.has(key))) return object;
  return Object.fromEntries(Object.entries(object).map(([key, field]) => [names.get(key) ?? key, field]));
}
