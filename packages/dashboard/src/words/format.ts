// Made once: every row in view is written ten times a second.
const TIME = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
/** The zone of the times that are shown. */
export const ZONE: string = TIME.resolvedOptions().timeZone;
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/**
 * Local time of day, such as `17:24:06`; on another day than today the date and the minute.
 *
 * @param time In milliseconds since 1970, or as the API writes it.
 * @param now The time of the server, which can be virtual.
 */
export function clockTime(time: number | string, now: number): string {
  const date = new Date(time);
  const text = TIME.format(date);
  return new Date(now).toDateString() === date.toDateString()
    ? text
    : `${DAY.format(date)} ${text.slice(0, 5)}`;
}

/** Local time to the millisecond, with the date. */
export function exactTime(time: number | string): string {
  const date = new Date(time);
  const ms = String(date.getMilliseconds()).padStart(3, "0");
  return `${DAY.format(date)} ${TIME.format(date)}.${ms}`;
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** A duration in at most two units: `3 h 20 min`, `12 s`, `4.2 s`, `35 ms`. */
export function duration(ms: number): string {
  if (ms < 0) return "0 s";
  if (ms < 999.5) return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`;
  if (ms < 10_000) return `${Math.round(ms / 100) / 10} s`;
  const whole = Math.round(ms / 1_000) * 1_000;
  const first = UNITS.findIndex(([, unit]) => whole >= unit);
  const [name, unit] = UNITS[first] ?? UNITS[3];
  const rest = whole % unit;
  const [restName, restUnit] = UNITS[first + 1] ?? ["", 0];
  const second = restUnit > 0 ? Math.floor(rest / restUnit) : 0;
  return `${Math.floor(whole / unit)} ${name}${second > 0 ? ` ${second} ${restName}` : ""}`;
}

/** A number with separators between thousands. */
export function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** `1 row`, `2 rows`. */
export function plural(value: number, noun: string): string {
  return value === 1 ? `1 ${noun}` : `${count(value)} ${noun}s`.replace(/ys$/, "ies");
}

/** Bytes as a person reads them: `412 bytes`, `1.0 MB`. */
export function bytes(value: number): string {
  if (value < 1_000) return `${value} bytes`;
  if (value < 1_000_000) return `${(value / 1_000).toFixed(1)} kB`;
  return `${(value / 1_000_000).toFixed(1)} MB`;
}

/** A code of the API as words. */
export function wordsOf(code: string): string {
  return code.replaceAll("_", " ");
}

/** A URL without what is the same in most: the scheme, and the slash at the end. */
export function shortUrl(url: string): string {
  return url.replace(/^https?:\/\//, "").replace(/\/$/, "");
}

/** An endpoint and its destination. */
export function nameOf({ url, destination }: { readonly url: string; readonly destination: string }): string {
  return `${url} (${destination})`;
}

/**
 * Characters that would hide, reorder or break what is around them. Two of them join and part what they follow in emoji, and in
 * scripts such as those of Persian and Hindi.
 */
const HIDING =
  // oxlint-disable-next-line no-control-regex -- control characters are what it shows
  /(?<![\u0600-\u1fff\u2600-\uffff])[\u200c\u200d]|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

function codeOf(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, "0");
}

/** Text of others, with the characters that would hide or reorder something made visible by their code. */
export function visible(text: string): string {
  return text.replaceAll(HIDING, (character) => `⟨U+${codeOf(character).toUpperCase()}⟩`);
}

/** A text as TypeScript; what would hide or reorder code is escaped. */
export function literal(text: string): string {
  return JSON.stringify(text).replaceAll(HIDING, (character) => `\\u${codeOf(character)}`);
}
