/** A request that a curl command makes, as `fetch()` takes it. */
export interface CurlRequest {
  readonly url: string;
  readonly init: RequestInit;
}

/** Options of curl without a value, which change nothing about the request. */
const SWITCHES = new Set(["-i", "-v"]);
/** Options of curl with a value, which change nothing about the request. */
const IGNORED = new Set(["--max-time", "-o"]);

/**
 * Reads the words of a curl command.
 *
 * @throws Error for an option that is not known here.
 */
export function curlRequest(words: readonly string[]): CurlRequest {
  const headers = new Headers();
  let [url, method, body]: (string | undefined)[] = [];
  const rest = words.slice(1);
  const value = (): string => rest.shift() ?? "";
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === "-X") method = value();
    else if (word === "-d" || word === "--data-binary") body = value();
    else if (word === "-u") headers.set("authorization", `Basic ${btoa(value())}`);
    else if (word === "-H") headers.append(...headerOf(value()));
    else if (IGNORED.has(word)) value();
    else if (word.startsWith("-") && !SWITCHES.has(word)) throw new Error(`curl ${word} is not known here`);
    else if (!SWITCHES.has(word)) url = word;
  }
  // What curl says of a body, unless it is told otherwise.
  if (body !== undefined && !headers.has("content-type"))
    headers.set("content-type", "application/x-www-form-urlencoded");
  method ??= body === undefined ? "GET" : "POST";
  return { url: url ?? "", init: { method, headers, ...(body !== undefined && { body }) } };
}

function headerOf(line: string): [string, string] {
  const [name = "", ...text] = line.split(":");
  return [name, text.join(":").trim()];
}
