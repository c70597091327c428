/**
 * What other libraries and tools call an option or a field, by its name here: in small letters, without `_` and `-`. The same
 * word may stand in several lines: the line counts whose name the object in question knows.
 */
const SYNONYMS: Readonly<Record<string, string>> = {
  secret: "sharedsecret sharedkey signingsecret signingkey webhooksecret endpointsecret secretkey key",
  retiredSecrets: "oldsecret oldsecrets previoussecret previoussecrets",
  endpoint: "url host apihost apiurl baseurl dataplaneurl path",
  url: "endpoint host apihost baseurl to webhookurl connectionstring databaseurl dsn uri",
  to: "url endpoint target webhookurl",
  flushAfter: "flushinterval interval",
  flushAt: "batchsize maxbatchsize maxeventsinbatch",
  maxQueueSize: "maxinternalqueuesize maxqueuelength queuesize",
  gzip: "compress compression",
  requestTimeout: "httprequesttimeout timeout timeoutms",
  attemptTimeout: "requesttimeout timeout timeoutms",
  timeoutMs: "timeout requesttimeout",
  deadlineMs: "deadline",
  deadline: "timeout timeoutms",
  within: "timeout timeoutms",
  timeout: "timeoutms requesttimeout commandtimeout",
  transport: "httpclient fetch agent",
  disable: "enable enabled disabled",
  log: "logger verbose debug",
  headers: "header",
  maxBodyBytes: "limit bodylimit maxbodysize maxbytes maxsize",
  dedupe: "deduplicate idempotency",
  onRejected: "errorhandler onfailure",
  onVerified: "onmessage onsuccess",
  events: "schema schemas",
  ttl: "expiresin expiry expire maxage ttlms ttlseconds keepfor",
  lease: "lockttl locktimeout",
  prefix: "keyprefix namespace",
  table: "tablename",
  max: "limit maxsize maxentries",
  path: "file filename db database",
  data: "path file filename db database",
  keepFor: "keep retention ttl maxage",
  keep: "keepfor retention ttl maxage",
  maxBytes: "limit maxsize",
  schema: "namespace",
  openWithin: "connecttimeout connectiontimeout",
  store: "storage database db",
  deliver: "delivers",
  retry: "retries retrypolicy maxretries maxattempts backoff",
  times: "count",
  sources: "source",
  language: "for framework lang",
  host: "hostname bind address",
  token: "apikey password auth",
  allowHosts: "allowedhosts",
  writeKey: "apikey key",
  userId: "distinctid uid",
  event: "eventname",
  properties: "props",
};

/** What the value must be, where it is often another one elsewhere. */
const VALUES: Readonly<Record<string, string>> = {
  flushAfter: "in milliseconds",
  requestTimeout: "in milliseconds",
  timeoutMs: "in milliseconds",
  deadlineMs: "in milliseconds",
  deadline: "in milliseconds",
  ttl: "in milliseconds as a number",
  lease: "in milliseconds as a number",
  attemptTimeout: 'in milliseconds, or text such as "5s"',
  within: 'in milliseconds, or text such as "5s"',
  keepFor: 'in milliseconds, or text such as "7d"',
  keep: 'in milliseconds, or text such as "7d"',
  maxBodyBytes: "a number of bytes",
  maxBytes: "a number of bytes",
  disable: "true sends nothing",
};

/** Which of these names a name from elsewhere stands for, or `undefined`. */
export function synonymOf(name: string, names: Readonly<Record<string, unknown>>): string | undefined {
  // A given name can have any length.
  const word = name.slice(0, 40).toLowerCase().replaceAll(/[_-]/g, "");
  return Object.keys(SYNONYMS).find(
    (other) => Object.hasOwn(names, other) && SYNONYMS[other]?.split(" ").includes(word),
  );
}

/** Says what a name is called here, and what its value must be where that is not obvious. */
export function synonymHint(name: string): string {
  const value = VALUES[name];
  return `it is called ${name} here${value === undefined ? "" : `, ${value}`}`;
}
