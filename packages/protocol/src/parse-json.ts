const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = /\s*:/y;

/**
 * The value of a text of JSON, with the keys that stand in it. Since Node 23, `JSON.parse` itself may take a key with an
 * escape, such as `"caf\u00e9"`, for one with a backslash, if an earlier text had that one at the same place. Anybody who can have a text
 * parsed could so change what is read of later ones.
 *
 * @throws SyntaxError if it is not JSON.
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const names = new Map<string, string>();
  const marked = markKeys(text, names);
  if (names.size === 0) return value;
  const named: unknown = JSON.parse(marked);
  return rename(named, names);
}

/** The text with another key in place of each that has an escape. */
function markKeys(text: string, names: Map<string, string>): string {
  let parts = "";
  let copied = 0;
  let mark: string | undefined;
  // Only strings with escapes are looked at, from their first escape on: a body may be large.
  for (let at = text.indexOf("\\"); at !== -1;) {
    const end = endOfString(text, at);
    COLON.lastIndex = end;
    if (COLON.test(text)) {
      const start = text.lastIndexOf('"', at);
      // No text can hold it by accident or on purpose.
      mark ??= crypto.randomUUID().slice(0, 13);
      const key = `${mark}${names.size}`;
      names.set(key, JSON.parse(text.slice(start, end)) as string);
      parts += `${text.slice(copied, start)}"${key}"`;
      copied = end;
    }
    at = text.indexOf("\\", end);
  }
  return parts + text.slice(copied);
}

/** The place behind the string in which a place is, in JSON. */
function endOfString(text: string, inside: number): number {
  let at = inside;
  for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at))
    at += code === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** A value in which keys have their names, wherever they are: it may nest as deep as the text. */
function rename(value: unknown, names: ReadonlyMap<string, string>): unknown {
  const whole: Fields = { value };
  const waiting: Fields[] = [whole];
  for (let fields = waiting.pop(); fields !== undefined; fields = waiting.pop())
    for (const key of Object.keys(fields)) {
      const one = fields[key];
      if (typeof one !== "object" || one === null) continue;
      const named = Array.isArray(one) ? one : withNames(one as Fields, names);
      if (named !== one) set(fields, key, named);
      // Arrays, too, by their indexes.
      waiting.push(named as Fields);
    }
  return whole["value"];
}

type Fields = Record<string, unknown>;

/** The object itself if all keys have their names. It is not changed: to delete keys takes much longer than to write them. */
function withNames(object: Fields, names: ReadonlyMap<string, string>): Fields {
  const keys = Object.keys(object);
  if (!keys.some((key) => names.has(key))) return object;
  const named: Fields = {};
  for (const key of keys) set(named, names.get(key) ?? key, object[key]);
  return named;
}

/** Sets a field. Assigned, `__proto__` would be none. */
function set(fields: Fields, key: string, value: unknown): void {
  if (key !== "__proto__") fields[key] = value;
  else Object.defineProperty(fields, key, { value, configurable: true, enumerable: true, writable: true });
}
