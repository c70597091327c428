/**
 * More about an option's name: its names in other libraries and tools (in small letters, without `_` and `-`, separated by spaces),
 * and the form of its value, if that often differs elsewhere.
 *
 * A table of option names has them as its values, so a bundle contains only those of the options that it takes. Words that several
 * tables share are here; those of one table are in it. The same word may be in several lines of a table: the first one counts.
 */
export type OptionSynonyms = readonly [words: string, value?: string];

export const DATA_SYNONYMS: OptionSynonyms = ["path file filename db database"];
export const DEADLINE_MS_SYNONYMS: OptionSynonyms = ["deadline", "in milliseconds"];
export const DELIVER_SYNONYMS: OptionSynonyms = ["delivers"];
export const ENDPOINT_SYNONYMS: OptionSynonyms = ["url host apihost apiurl baseurl dataplaneurl path"];
export const EVENT_SYNONYMS: OptionSynonyms = ["eventname"];
export const EVENTS_SYNONYMS: OptionSynonyms = ["schema schemas"];
export const HEADERS_SYNONYMS: OptionSynonyms = ["header"];
export const HOST_SYNONYMS: OptionSynonyms = ["hostname bind address"];
export const KEEP_FOR_SYNONYMS: OptionSynonyms = [
  "keep retention ttl maxage",
  'in milliseconds, or text such as "7d"',
];
export const LEASE_SYNONYMS: OptionSynonyms = ["lockttl locktimeout", "in milliseconds as a number"];
export const MAX_BYTES_SYNONYMS: OptionSynonyms = ["limit maxsize", "a number of bytes"];
export const ON_REJECTED_SYNONYMS: OptionSynonyms = ["errorhandler onfailure"];
export const PROPERTIES_SYNONYMS: OptionSynonyms = ["props"];
export const PROXY_SYNONYMS: OptionSynonyms = ["httpproxy httpsproxy proxyurl", "a URL as text"];
export const RETRY_SYNONYMS: OptionSynonyms = ["retries retrypolicy maxretries maxattempts backoff"];
export const SECRET_SYNONYMS: OptionSynonyms = [
  "sharedsecret sharedkey signingsecret signingkey webhooksecret endpointsecret secretkey key",
];
export const SOURCES_SYNONYMS: OptionSynonyms = ["source"];
export const STORE_SYNONYMS: OptionSynonyms = ["storage database db"];
export const TIMEOUT_SYNONYMS: OptionSynonyms = ["timeoutms requesttimeout commandtimeout"];
export const TO_SYNONYMS: OptionSynonyms = ["url endpoint target webhookurl"];
export const TOKEN_SYNONYMS: OptionSynonyms = ["apikey password auth"];
export const TRANSPORT_SYNONYMS: OptionSynonyms = ["httpclient fetch agent"];
export const TTL_SYNONYMS: OptionSynonyms = [
  "expiresin expiry expire maxage ttlms ttlseconds keepfor",
  "in milliseconds as a number",
];
export const URL_SYNONYMS: OptionSynonyms = [
  "endpoint host apihost baseurl to webhookurl connectionstring databaseurl dsn uri",
];
export const USER_ID_SYNONYMS: OptionSynonyms = ["distinctid uid"];
export const WRITE_KEY_SYNONYMS: OptionSynonyms = ["apikey key"];

type Names = Readonly<Record<string, unknown>>;

/** Which of these names a name from elsewhere stands for, or `undefined`. */
export function synonymOf(name: string, names: Names): string | undefined {
  // A given name can have any length.
  const word = name.slice(0, 40).toLowerCase().replaceAll(/[_-]/g, "");
  return Object.keys(names).find((other) => synonymsIn(names, other)[0].split(" ").includes(word));
}

/** Says what a name is called here, and what its value must be where that is not obvious. */
export function synonymHint(name: string, names: Names): string {
  const [, value] = synonymsIn(names, name);
  return `it is called ${name} here${value === undefined ? "" : `, ${value}`}`;
}

function synonymsIn(names: Names, name: string): OptionSynonyms {
  const synonyms = names[name];
  return Array.isArray(synonyms) ? (synonyms as unknown as OptionSynonyms) : [""];
}
