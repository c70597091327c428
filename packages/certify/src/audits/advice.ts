import type { Language } from "../probe/language.ts";
import type { Probe } from "../probe/probe.ts";

/** What fixes are about, where each language does it in its own way. */
type Topic =
  | "digest"
  | "header"
  | "secret"
  | "csrf"
  | "hex"
  | "compare"
  | "json"
  | "utf8"
  | "surrogates"
  | "limit"
  | "chunked"
  | "later"
  | "workers";

/** What to change in a receiver: advice for every language, and the topics of the language's hint. */
export interface Advice {
  readonly text: string;
  readonly hint?: Topic | readonly Topic[];
  /** `verifyWebhook()` does as it should: if it seems not to, something has read or answered the request before it. */
  readonly isOurs?: true;
}

/** Takes the place of advice on how to write a receiver where `verifyWebhook()` already is. */
const NOT_FIRST =
  "verifyWebhook() does so by itself: mount it before what reads the body or answers in its place, such as a body parser, a validator or a protection against CSRF. Where a platform or a proxy does so first, set it there, or accept this.";

const NAMES: Readonly<Record<Language, string>> = {
  node: "Node",
  python: "Python",
  java: "Java",
  php: "PHP",
  go: "Go",
  ruby: "Ruby",
};

/** How each language does what a fix asks for. */
const HINTS: Readonly<Record<Topic, Readonly<Record<Language, string>>>> = {
  digest: {
    node: 'crypto.createHmac("sha1", secret).update(rawBody).digest("hex"), where rawBody is the Buffer from express.raw({ type: "application/json" }) or the request\'s chunks, not JSON.stringify(req.body)',
    python:
      "hmac.new(secret.encode(), raw, hashlib.sha1).hexdigest(), where raw is request.get_data() in Flask, request.body in Django, await request.body() in FastAPI, self.rfile.read(length) in http.server, not json.dumps(...)",
    java: 'Mac.getInstance("HmacSHA1") over the byte[] body, and HexFormat.of().formatHex(digest); the body is request.getInputStream().readAllBytes() in a servlet, @RequestBody byte[] in Spring, not an object',
    php: "hash_hmac('sha1', file_get_contents('php://input'), $secret), not json_encode($data)",
    go: "hmac.New(sha1.New, secret) over the bytes of io.ReadAll(r.Body), not over json.Marshal(v)",
    ruby: "OpenSSL::HMAC.hexdigest('SHA1', secret, request.raw_post), not params.to_json",
  },
  header: {
    node: 'the header is request.headers["x-signature"], in lower case',
    python:
      'the header is request.headers["X-Signature"] in Flask, Django and FastAPI, self.headers["X-Signature"] in http.server',
    java: 'the header is request.getHeader("X-Signature"), and == of two equal strings is false',
    php: "the header is $_SERVER['HTTP_X_SIGNATURE']",
    go: 'the header is r.Header.Get("X-Signature")',
    ruby: "the header is request.get_header('HTTP_X_SIGNATURE') in Rack and Sinatra, request.headers['X-Signature'] in Rails",
  },
  secret: {
    node: "process.env gives undefined for a variable that is not set, and keeps quotes and spaces of the file it was read from",
    python:
      "use os.environ[NAME], which raises, rather than os.environ.get(NAME); strip() a secret read from a file",
    java: "System.getenv gives null for a variable that is not set; strip() a secret read from a file",
    php: "getenv gives false for a variable that is not set, and for each under PHP-FPM without env[NAME] = $NAME in its pool, and hash_hmac treats false as an empty key; trim() a secret read from a file",
    go: "os.Getenv gives an empty string for a variable that is not set; use os.LookupEnv, and strings.TrimSpace for a file",
    ruby: "use ENV.fetch(NAME), which raises, rather than ENV[NAME]; strip a secret read from a file",
  },
  csrf: {
    node: "do not register the middleware of tokens for this path",
    python: "@csrf_exempt before the view in Django, csrf.exempt(view) in Flask-WTF",
    java: "csrf.ignoringRequestMatchers(path) in Spring Security",
    php: "validateCsrfTokens(except: [path]) in bootstrap/app.php of Laravel, or the route in routes/api.php",
    go: "do not wrap this handler in the middleware of tokens",
    ruby: "skip_forgery_protection in the controller in Rails",
  },
  hex: {
    node: 'digest("hex"), or byte.toString(16).padStart(2, "0")',
    python: 'hexdigest(), or "%02x" % byte',
    java: 'HexFormat.of().formatHex(digest), or String.format("%02x", b); Integer.toHexString(b & 0xff) and BigInteger.toString(16) drop zeros',
    php: "hash_hmac without its fourth argument, or bin2hex; dechex drops zeros",
    go: 'hex.EncodeToString(sum), or "%02x"; "%x" of a single byte drops zeros',
    ruby: "OpenSSL::HMAC.hexdigest, or unpack1('H*'); to_s(16) drops zeros",
  },
  compare: {
    node: "/^[0-9a-f]{40}$/i.test(header), then crypto.timingSafeEqual of the two Buffers, which throws if the lengths differ",
    python:
      "re.fullmatch('[0-9a-fA-F]{40}', header), then hmac.compare_digest(digest, header.lower()), which raises for text that is not ASCII",
    java: 'header.matches("[0-9a-fA-F]{40}"), then MessageDigest.isEqual of the two byte[]',
    php: "preg_match('/^[0-9a-f]{40}$/iD', $header), then hash_equals($digest, strtolower($header))",
    go: "hex.DecodeString, then a length of 20, then hmac.Equal",
    ruby: "header.match?(/\\A\\h{40}\\z/), then OpenSSL.fixed_length_secure_compare(digest, header.downcase)",
  },
  json: {
    node: "JSON.parse throws a SyntaxError, and JSON.stringify a RangeError for deep nesting",
    python: "json.loads raises ValueError, and RecursionError for deep nesting",
    java: "Jackson throws JsonProcessingException (for text after the message only with DeserializationFeature.FAIL_ON_TRAILING_TOKENS), and StackOverflowError or StreamConstraintsException for deep nesting",
    php: "json_decode($raw, true, 512, JSON_THROW_ON_ERROR) throws JsonException, also for nesting deeper than 512",
    go: "json.Unmarshal returns an error, also for nesting deeper than 10,000 and for text after the message, which json.Decoder leaves unread",
    ruby: "JSON.parse raises JSON::ParserError, also for nesting deeper than max_nesting, which is 100 unless you pass it",
  },
  utf8: {
    node: 'new TextDecoder("utf-8", { fatal: true }).decode(rawBody)',
    python: 'raw.decode("utf-8"), without errors="replace"',
    java: "StandardCharsets.UTF_8.newDecoder().decode(buffer), which throws; new String(bytes, UTF_8) does not",
    php: "json_decode with JSON_THROW_ON_ERROR throws for it; by itself, preg_match('//u', $raw) === 1 (mb_check_encoding needs an extension)",
    go: "utf8.Valid(raw)",
    ruby: "raw.force_encoding('UTF-8').valid_encoding?",
  },
  surrogates: {
    node: "JSON.parse keeps them, and Buffer.from replaces them",
    python: "json.loads keeps them; replace them before text.encode(), which raises",
    java: "Jackson keeps them, and getBytes(UTF_8) replaces them",
    php: "json_decode reports JSON_ERROR_UTF16, which it has no flag for: replace such an escape with \\ufffd before, in a copy of the body, after the signature was verified",
    go: "json.Unmarshal replaces them",
    ruby: "JSON.parse of older versions raises for one at the end of a text: replace such an escape with \\ufffd before, in a copy of the body, after the signature was verified",
  },
  limit: {
    node: 'check Content-Length and count the bytes in the "data" events, before any body parser: express.json() and express.raw() answer 413, but read the body to its end',
    python:
      "check request.content_length in Flask, or request.META['CONTENT_LENGTH'] in Django, before the body is read, and read(limit + 1) of request.stream in Flask; count the bytes of request.stream() in FastAPI. gunicorn and uvicorn have no limit of bodies, and under ASGI Django reads all of one before the view runs: set client_max_body_size in nginx",
    java: "check request.getContentLengthLong(), then take readNBytes(limit + 1) of request.getInputStream(); @RequestBody of Spring reads all, so there it belongs into a filter, or use client_max_body_size in nginx",
    php: "the web server reads the whole body before PHP runs, so only it can reject: client_max_body_size 1m in nginx, LimitRequestBody 1048576 in Apache with mod_php (Apache has no limit for what it passes on to PHP-FPM). It answers 413 by Content-Length. PHP's built-in server has no such limit: ignore this there",
    go: "http.MaxBytesReader(w, r.Body, 1<<20)",
    ruby: "Rack reads the body through the web server, so the limit belongs there: client_max_body_size in nginx, http_content_length_limit in config/puma.rb from Puma 6 on",
  },
  chunked: {
    node: "take every chunk of the request, or express.raw(), whatever Content-Length says",
    python:
      "read() without a length never ends in http.server, which does not decode chunks: take gunicorn or uvicorn. Django takes chunked bodies under ASGI only: uvicorn",
    java: "request.getInputStream().readAllBytes(), not getContentLength() bytes",
    php: "file_get_contents('php://input'), not as many bytes as $_SERVER['CONTENT_LENGTH']. PHP-FPM sees an empty body unless the web server sends it a length: fastcgi_request_buffering on in nginx, which is the default; SetEnvIf Transfer-Encoding chunked proxy-sendcl=1 in Apache",
    go: "io.ReadAll(r.Body), not r.ContentLength bytes, which is -1",
    ruby: "request.body.read, not as many bytes as request.content_length",
  },
  later: {
    node: "put the message into a queue such as BullMQ, or into a table, and answer before the work",
    python: "pass the message to Celery, RQ or a table, and answer before the work",
    java: "pass the message to an executor backed by a queue or a table, and answer before the work",
    php: "insert the message into a queue or a table; fastcgi_finish_request() answers before the work under PHP-FPM",
    go: "send the message to a queue or a table, and answer before the work; with only a goroutine, a crash loses it",
    ruby: "SomeJob.perform_later(message) with Active Job or Sidekiq, and answer before the work",
  },
  workers: {
    node: "await instead of blocking calls such as readFileSync or execSync",
    python: "threads or several workers: ThreadingHTTPServer, gunicorn --workers 4 --threads 8, uvicorn",
    java: "the thread pool of the web server",
    php: "PHP-FPM with several children; for the built-in server PHP_CLI_SERVER_WORKERS=8",
    go: "net/http already does, unless a mutex is held over the request",
    ruby: "Puma with threads, or several workers; WEBrick only for development",
  },
};

/** A fix as a string, with the function names of the receiver's language if it is known. */
export function adviceFor(
  advice: Advice,
  { language, isCountersign }: Pick<Probe, "language" | "isCountersign">,
): string {
  if (isCountersign && advice.isOurs) return NOT_FIRST;
  if (language === undefined || advice.hint === undefined) return advice.text;
  const hints = [advice.hint].flat().map((topic) => HINTS[topic][language]);
  return `${advice.text} In ${NAMES[language]}: ${hints.join("; ")}.`;
}
