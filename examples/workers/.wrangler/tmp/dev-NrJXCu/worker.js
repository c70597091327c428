var __defProp = Object.defineProperty;
var __name = (target, value) => __defProp(target, "name", { value, configurable: true });

// ../../packages/core/dist/errors.js
var CODES = {
  ERR_METHOD_NOT_ALLOWED: {
    status: 405,
    message: "Webhooks are delivered by POST.",
    hint: "Only POST reaches the handler. This was probably a browser or a health check.",
    headers: { allow: "POST" }
  },
  ERR_MEDIA_TYPE: {
    status: 415,
    message: "The Content-Type must be application/json in UTF-8.",
    hint: "The service sends application/json. Another client posted here, or a proxy changed the header."
  },
  ERR_CONTENT_ENCODING: {
    status: 415,
    message: "The body must be sent without a content encoding.",
    hint: "The service does not compress. Turn off request compression in the proxy in front of the receiver."
  },
  ERR_BODY_TOO_LARGE: {
    status: 413,
    message: "The body is larger than this receiver accepts.",
    hint: "The service sends at most 32 KB a message. Raise maxBodyBytes if yours are larger.",
    // The receiver does not read the rest of the body. Closing the connection tells the sender to stop.
    headers: { connection: "close" }
  },
  ERR_BODY_FRAGMENTED: {
    status: 400,
    message: "The body arrives in too many chunks.",
    hint: "The service sends a message in a few chunks. A proxy splits it into pieces of a few bytes, or it is an attack.",
    // The receiver does not read the rest of the body. Closing the connection tells the sender to stop.
    headers: { connection: "close" }
  },
  ERR_BODY_ABORTED: {
    status: 400,
    message: "The body ended before it was complete.",
    hint: "The connection closed before the body ended, probably because the sender or a proxy timed out."
  },
  ERR_BODY_ALREADY_READ: {
    status: 500,
    message: "The receiver could not read the body.",
    hint: "Something read the request stream before verifyWebhook() and kept neither bytes nor text. Mount verifyWebhook() before the body parser, or let the parser keep the bytes in request.rawBody."
  },
  ERR_SIGNATURE_MISSING: {
    status: 401,
    message: "The X-Signature header is missing.",
    hint: "The sender has no shared secret, a proxy drops the header, or the request is not from the service."
  },
  ERR_SIGNATURE_MALFORMED: {
    status: 401,
    message: "The X-Signature header must be a single value of 40 hex digits.",
    hint: "The signature is not a hex HMAC-SHA1, or the header was sent more than once."
  },
  ERR_SIGNATURE_MISMATCH: {
    status: 401,
    message: "The X-Signature header does not match the body.",
    hint: "The sender signs with another secret, or a proxy changed the body. Set onRejected or call diagnose(): both try the usual causes."
  },
  ERR_INVALID_UTF8: {
    status: 400,
    message: "The body is not valid UTF-8.",
    hint: "The body is correctly signed, but not valid UTF-8. Fix the sender."
  },
  ERR_INVALID_JSON: {
    status: 400,
    message: "The body is not valid JSON.",
    hint: "The body is correctly signed, but not valid JSON. Fix the sender."
  },
  ERR_BATCH_UNSUPPORTED: {
    status: 422,
    message: "The body is an array; send one message in each request.",
    hint: "Only the first element of such a batch is signed, so the rest cannot be trusted. Turn batching off at the sender."
  },
  ERR_UNKNOWN_TYPE: {
    status: 422,
    message: "The message has an unknown type.",
    hint: "The message is authentic. Set allowUnknownTypes to receive types that this version does not know."
  },
  ERR_INVALID_MESSAGE: {
    status: 422,
    message: "The message is malformed.",
    hint: "The message is authentic, but a field does not have the documented type (spec 2.2)."
  },
  ERR_DUPLICATE_IN_FLIGHT: {
    status: 503,
    message: "This delivery is already being processed; try again later.",
    hint: "The same delivery arrived again while its handler is running. The sender will retry it.",
    headers: { "retry-after": "5" }
  }
};
var ERROR_CODES = Object.keys(CODES);
var WebhookError = class extends Error {
  static {
    __name(this, "WebhookError");
  }
  name = "WebhookError";
  /** Stable, see {@link WebhookErrorCode}. */
  code;
  /** The HTTP status to answer with. */
  status;
  /** The same as `status`, under the name Fastify and Express read. */
  statusCode;
  /** What the operator should check. Never sent to the caller. */
  hint;
  /** Tells Koa and Express that `message` may be shown. */
  expose = true;
  /** Headers of the response, names in lower case. */
  headers;
  constructor(code, options = {}) {
    const { status, message, hint, headers } = CODES[code];
    const { stackTraceLimit } = Error;
    Reflect.set(Error, "stackTraceLimit", 0);
    super(options.message ?? message, options.cause === void 0 ? {} : { cause: options.cause });
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
    this.code = code;
    this.status = status;
    this.statusCode = status;
    this.hint = options.hint ?? hint;
    this.headers = headers ?? {};
  }
};

// ../../packages/protocol/dist/json.js
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
__name(isObject, "isObject");
var LONGEST_QUOTE = 40;
function describeKind(value) {
  if (value === null || value === void 0)
    return String(value);
  if (Array.isArray(value))
    return "an array";
  if (typeof value === "string")
    return quote(value);
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? "an invalid Date" : "a Date";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
__name(describeKind, "describeKind");
function quote(text) {
  return JSON.stringify(text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}\u2026` : text);
}
__name(quote, "quote");

// ../../packages/core/dist/message-fields.js
var COMMON = {
  version: "number",
  messageId: "string",
  userId: "string",
  anonymousId: "string",
  timestamp: "string",
  context: "object",
  integrations: "object"
};
var USER = ["userId", "anonymousId"];
var MESSAGE_RULES = {
  page: { fields: { ...COMMON, name: "string", category: "string", properties: "object" }, required: [USER] },
  screen: {
    fields: { ...COMMON, name: "string", category: "string", properties: "object" },
    required: [USER]
  },
  identify: { fields: { ...COMMON, traits: "object" }, required: [USER] },
  track: { fields: { ...COMMON, event: "string", properties: "object" }, required: [["event"], USER] },
  alias: {
    fields: { ...COMMON, "Previous ID": "string", "User ID": "string", previousId: "string" },
    required: [
      ["Previous ID", "previousId"],
      ["User ID", "userId"]
    ]
  },
  group: { fields: { ...COMMON, groupId: "string", traits: "object" }, required: [["groupId"], USER] },
  delete: { fields: COMMON, required: [["userId"]] }
};
var COMMON_ENTRIES = Object.entries(COMMON);
var FIELD_ENTRIES = new Map(Object.entries(MESSAGE_RULES).map(([type, { fields }]) => [type, Object.entries(fields)]));
function checkCommonFields(value) {
  return isObject(value) ? checkFields(value, COMMON_ENTRIES, "the message") : void 0;
}
__name(checkCommonFields, "checkCommonFields");
function checkMessage(value) {
  if (Array.isArray(value)) {
    return {
      code: "ERR_BATCH_UNSUPPORTED",
      message: "The body is an array; send one message in each request."
    };
  }
  if (!isObject(value))
    return invalid(`The message must be a JSON object, but is ${nameKind(value)}.`);
  const type = own(value, "type");
  if (typeof type !== "string")
    return invalid(`Field "type" must be a string, but is ${nameKind(type)}.`);
  const fields = FIELD_ENTRIES.get(type);
  if (fields === void 0) {
    return {
      code: "ERR_UNKNOWN_TYPE",
      message: `The message type must be one of ${Object.keys(MESSAGE_RULES).join(", ")}.`
    };
  }
  const { required } = MESSAGE_RULES[type];
  return checkFields(value, fields, type) ?? checkRequired(value, required, type);
}
__name(checkMessage, "checkMessage");
function checkFields(message, fields, where) {
  for (const [name, kind] of fields) {
    const value = message[name];
    if (value == null || (kind === "object" ? isObject(value) : typeof value === kind))
      continue;
    if (!Object.hasOwn(message, name))
      continue;
    const wanted = kind === "object" ? "an object" : `a ${kind}`;
    return invalid(`Field "${name}" of ${where} must be ${wanted}, but is ${nameKind(value)}.`);
  }
  return void 0;
}
__name(checkFields, "checkFields");
function checkRequired(message, required, type) {
  for (const spellings of required) {
    const there = spellings.some((name) => {
      const value = message[name];
      return typeof value === "string" && value !== "" && Object.hasOwn(message, name);
    });
    if (!there) {
      const names = spellings.map((name) => `"${name}"`).join(" or ");
      return invalid(`A message of type ${type} must have a non-empty ${names}.`);
    }
  }
  return void 0;
}
__name(checkRequired, "checkRequired");
function invalid(message) {
  return { code: "ERR_INVALID_MESSAGE", message };
}
__name(invalid, "invalid");
function own(object, name) {
  return Object.hasOwn(object, name) ? object[name] : void 0;
}
__name(own, "own");
function nameKind(value) {
  if (value === null)
    return "null";
  if (value === void 0)
    return "missing";
  if (Array.isArray(value))
    return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
__name(nameKind, "nameKind");

// ../../packages/core/dist/parse-message.js
function parseMessage(value, options = {}) {
  let fault = checkMessage(value);
  if (fault === void 0)
    return value;
  if (fault.code === "ERR_UNKNOWN_TYPE" && options.allowUnknownTypes) {
    fault = checkCommonFields(value);
    if (fault === void 0)
      return value;
  }
  throw new WebhookError(fault.code, { message: fault.message });
}
__name(parseMessage, "parseMessage");

// ../../packages/core/dist/response.js
var ALREADY_HANDLED = { status: 200, headers: {}, body: "" };
var PROBLEM_TITLES = {
  400: "Bad Request",
  401: "Unauthorized",
  405: "Method Not Allowed",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  500: "Internal Server Error",
  503: "Service Unavailable"
};
function toProblem(error) {
  const { status, code, message } = error;
  return {
    status,
    headers: {
      "content-type": "application/problem+json; charset=utf-8",
      "cache-control": "no-store",
      ...error.headers
    },
    body: JSON.stringify({
      type: "about:blank",
      title: PROBLEM_TITLES[status] ?? "Error",
      status,
      detail: message,
      code
    })
  };
}
__name(toProblem, "toProblem");

// ../../packages/core/dist/body-buffer.js
var SMALLEST_GROWTH = 16384;
function createBodyBuffer(maxBytes) {
  let buffer = new Uint8Array();
  let length = 0;
  return {
    append(chunk) {
      const needed = length + chunk.length;
      if (needed > maxBytes)
        return false;
      if (length === 0) {
        buffer = chunk;
      } else {
        if (needed > buffer.length)
          buffer = grown(buffer, length, needed, maxBytes);
        buffer.set(chunk, length);
      }
      length = needed;
      return true;
    },
    bytes: /* @__PURE__ */ __name(() => length === buffer.length ? buffer : buffer.subarray(0, length), "bytes")
  };
}
__name(createBodyBuffer, "createBodyBuffer");
function grown(buffer, length, needed, maxBytes) {
  const size = Math.max(needed, buffer.length * 2, SMALLEST_GROWTH);
  const larger = new Uint8Array(Math.min(size, Math.ceil(maxBytes)));
  larger.set(buffer.subarray(0, length));
  return larger;
}
__name(grown, "grown");

// ../../node_modules/.pnpm/@noble+hashes@2.4.0/node_modules/@noble/hashes/utils.js
function isBytes(a) {
  return a instanceof Uint8Array || ArrayBuffer.isView(a) && a.constructor.name === "Uint8Array" && "BYTES_PER_ELEMENT" in a && a.BYTES_PER_ELEMENT === 1;
}
__name(isBytes, "isBytes");
var atitle = /* @__PURE__ */ __name((title) => title ? `"${title}" ` : "", "atitle");
function anumber(n, title = "") {
  if (typeof n !== "number")
    throw new TypeError(atitle(title) + "expected number, got " + typeof n);
  if (!Number.isSafeInteger(n) || n < 0)
    throw new RangeError(atitle(title) + "expected integer >= 0, got " + n);
  return n;
}
__name(anumber, "anumber");
function abytes(value, length, title = "") {
  if (isBytes(value) && (length === void 0 || value.length === length))
    return value;
  if (length !== void 0)
    anumber(length, "length");
  const bytes = isBytes(value);
  const ofLen = length !== void 0 ? ` of length ${length}` : "";
  const got = bytes ? `length=${value.length}` : `type=${typeof value}`;
  const message = atitle(title) + "expected Uint8Array" + ofLen + ", got " + got;
  if (!bytes)
    throw new TypeError(message);
  throw new RangeError(message);
}
__name(abytes, "abytes");
function ahash(h) {
  if (typeof h !== "function" || typeof h.create !== "function")
    throw new TypeError("expected hash wrapped by utils.createHasher");
  anumber(h.outputLen);
  anumber(h.blockLen);
  if (h.outputLen < 1 || h.blockLen < 1)
    throw new Error("hash blockLen / outputLen must be >= 1");
}
__name(ahash, "ahash");
var aobject = /* @__PURE__ */ __name((value, label) => {
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new TypeError((label === "object" ? "" : `"${label}" `) + "expected object, got type=" + typeof value);
}, "aobject");
var aopts = /* @__PURE__ */ __name((value, label) => {
  aobject(value, label);
  const proto = Object.getPrototypeOf(value);
  if (proto !== Object.prototype && proto !== null)
    throw new TypeError(`"${label}" expected plain object`);
  if (Object.hasOwn(value, "__proto__"))
    throw new TypeError(`"${label}.__proto__" is not allowed`);
}, "aopts");
function aexists(instance, checkFinished = true) {
  if (instance.destroyed)
    throw new Error("hash was destroyed");
  if (checkFinished && instance.finished)
    throw new Error("digest() was already called");
}
__name(aexists, "aexists");
function aoutput(out, instance) {
  abytes(out, void 0, "output");
  const min = instance.outputLen;
  if (!(out.length >= min)) {
    throw new RangeError('"output" expected length >= ' + min);
  }
}
__name(aoutput, "aoutput");
function clean(...arrays) {
  for (let i = 0; i < arrays.length; i++) {
    arrays[i].fill(0);
  }
}
__name(clean, "clean");
function createView(arr) {
  return new DataView(arr.buffer, arr.byteOffset, arr.byteLength);
}
__name(createView, "createView");
function rotr(word, shift) {
  return word << 32 - shift | word >>> shift;
}
__name(rotr, "rotr");
function rotl(word, shift) {
  return word << shift | word >>> 32 - shift >>> 0;
}
__name(rotl, "rotl");
function checkOpts(defaults, opts, title = "opts") {
  aopts(defaults, "defaults");
  if (opts !== void 0)
    aopts(opts, title);
  const merged = Object.assign(/* @__PURE__ */ Object.create(null), defaults, opts);
  return merged;
}
__name(checkOpts, "checkOpts");
function createHasher(hashCons, info = {}) {
  if (typeof hashCons !== "function")
    throw new TypeError('"hashCons" expected function, got type=' + typeof hashCons);
  info = checkOpts({}, info, "info");
  const hashC = /* @__PURE__ */ __name((msg, opts) => hashCons(opts).update(msg).digest(), "hashC");
  const tmp = hashCons(void 0);
  hashC.outputLen = tmp.outputLen;
  hashC.blockLen = tmp.blockLen;
  hashC.canXOF = tmp.canXOF;
  hashC.create = (opts) => hashCons(opts);
  Object.assign(hashC, info);
  return Object.freeze(hashC);
}
__name(createHasher, "createHasher");
var oidNist = /* @__PURE__ */ __name((suffix) => ({
  // Current NIST hashAlgs suffixes used here fit in one DER subidentifier octet.
  // Larger suffix values would need base-128 OID encoding and a different length byte.
  oid: Uint8Array.from([6, 9, 96, 134, 72, 1, 101, 3, 4, 2, suffix])
}), "oidNist");

// ../../node_modules/.pnpm/@noble+hashes@2.4.0/node_modules/@noble/hashes/hmac.js
var _HMAC = class {
  static {
    __name(this, "_HMAC");
  }
  oHash;
  iHash;
  blockLen;
  outputLen;
  canXOF = false;
  finished = false;
  destroyed = false;
  constructor(hash, key) {
    ahash(hash);
    abytes(key, void 0, "key");
    this.iHash = hash.create();
    if (typeof this.iHash.update !== "function")
      throw new Error("expected Hash instance");
    this.blockLen = this.iHash.blockLen;
    this.outputLen = this.iHash.outputLen;
    const blockLen = this.blockLen;
    const pad = new Uint8Array(blockLen);
    pad.set(key.length > blockLen ? hash.create().update(key).digest() : key);
    for (let i = 0; i < pad.length; i++)
      pad[i] ^= 54;
    this.iHash.update(pad);
    this.oHash = hash.create();
    for (let i = 0; i < pad.length; i++)
      pad[i] ^= 54 ^ 92;
    this.oHash.update(pad);
    clean(pad);
  }
  update(buf) {
    aexists(this);
    this.iHash.update(buf);
    return this;
  }
  digestInto(out) {
    aexists(this);
    aoutput(out, this);
    this.finished = true;
    const buf = out.subarray(0, this.outputLen);
    this.iHash.digestInto(buf);
    this.oHash.update(buf);
    this.oHash.digestInto(buf);
    this.destroy();
  }
  digest() {
    const out = new Uint8Array(this.oHash.outputLen);
    this.digestInto(out);
    return out;
  }
  _cloneInto(to) {
    to ||= Object.create(Object.getPrototypeOf(this), {});
    const { oHash, iHash, finished, destroyed, blockLen, outputLen, canXOF } = this;
    to = to;
    to.finished = finished;
    to.destroyed = destroyed;
    to.blockLen = blockLen;
    to.outputLen = outputLen;
    to.canXOF = canXOF;
    to.oHash = oHash._cloneInto(to.oHash);
    to.iHash = iHash._cloneInto(to.iHash);
    return to;
  }
  clone() {
    return this._cloneInto();
  }
  destroy() {
    this.destroyed = true;
    this.oHash.destroy();
    this.iHash.destroy();
  }
};
var hmac = /* @__PURE__ */ (() => {
  const hmac_ = /* @__PURE__ */ __name(((hash, key, message) => new _HMAC(hash, key).update(message).digest()), "hmac_");
  hmac_.create = (hash, key) => new _HMAC(hash, key);
  return hmac_;
})();

// ../../node_modules/.pnpm/@noble+hashes@2.4.0/node_modules/@noble/hashes/_u64.js
var fromNumH = /* @__PURE__ */ __name((n) => n / 2 ** 32 | 0, "fromNumH");
var fromNumL = /* @__PURE__ */ __name((n) => n >>> 0, "fromNumL");
function setU64FromNum(view, byteOffset, n, isLE) {
  const h = fromNumH(n);
  const l = fromNumL(n);
  view.setUint32(byteOffset, isLE ? l : h, isLE);
  view.setUint32(byteOffset + 4, isLE ? h : l, isLE);
}
__name(setU64FromNum, "setU64FromNum");

// ../../node_modules/.pnpm/@noble+hashes@2.4.0/node_modules/@noble/hashes/_md.js
function Chi(a, b, c) {
  return a & b ^ ~a & c;
}
__name(Chi, "Chi");
function Maj(a, b, c) {
  return a & b ^ a & c ^ b & c;
}
__name(Maj, "Maj");
var HashMD = class {
  static {
    __name(this, "HashMD");
  }
  blockLen;
  outputLen;
  canXOF = false;
  padOffset;
  isLE;
  // For partial updates less than block size
  buffer;
  view;
  finished = false;
  length = 0;
  pos = 0;
  destroyed = false;
  constructor(blockLen, outputLen, padOffset, isLE) {
    this.blockLen = blockLen;
    this.outputLen = outputLen;
    this.padOffset = padOffset;
    this.isLE = isLE;
    this.buffer = new Uint8Array(blockLen);
    this.view = createView(this.buffer);
  }
  update(data) {
    aexists(this);
    abytes(data);
    const { view, buffer, blockLen } = this;
    const len = data.length;
    let processed = false;
    for (let pos = 0; pos < len; ) {
      const take = Math.min(blockLen - this.pos, len - pos);
      if (take === blockLen) {
        const dataView = createView(data);
        for (; blockLen <= len - pos; pos += blockLen)
          this.process(dataView, pos);
        processed = true;
        continue;
      }
      buffer.set(pos === 0 && take === len ? data : data.subarray(pos, pos + take), this.pos);
      this.pos += take;
      pos += take;
      if (this.pos === blockLen) {
        this.process(view, 0);
        this.pos = 0;
        processed = true;
      }
    }
    this.length += data.length;
    if (processed)
      this.roundClean();
    return this;
  }
  digestInto(out) {
    aexists(this);
    aoutput(out, this);
    this.finished = true;
    const { buffer, view, blockLen, isLE } = this;
    let { pos } = this;
    buffer[pos++] = 128;
    buffer.fill(0, pos);
    if (this.padOffset > blockLen - pos) {
      this.process(view, 0);
      buffer.fill(0);
    }
    setU64FromNum(view, blockLen - 8, this.length * 8, isLE);
    this.process(view, 0);
    this.roundClean();
    const oview = out === buffer ? view : createView(out);
    const len = this.outputLen;
    const outLen = len / 4;
    const state = this.get();
    if (len % 4 || outLen > state.length)
      throw new Error("invalid outputLen");
    for (let i = 0; i < outLen; i++)
      oview.setUint32(4 * i, state[i], isLE);
  }
  digest() {
    const { buffer, outputLen } = this;
    this.digestInto(buffer);
    const res = buffer.slice(0, outputLen);
    this.destroy();
    return res;
  }
  _cloneIntoMeta(to) {
    const { buffer, length, finished, destroyed, pos } = this;
    to.destroyed = destroyed;
    to.finished = finished;
    to.length = length;
    to.pos = pos;
    if (pos)
      to.buffer.set(buffer);
    return to;
  }
  clone() {
    return this._cloneInto();
  }
};
var SHA256_IV = /* @__PURE__ */ Uint32Array.from([
  1779033703,
  3144134277,
  1013904242,
  2773480762,
  1359893119,
  2600822924,
  528734635,
  1541459225
]);

// ../../node_modules/.pnpm/@noble+hashes@2.4.0/node_modules/@noble/hashes/legacy.js
var SHA1_IV = /* @__PURE__ */ Uint32Array.from([
  1732584193,
  4023233417,
  2562383102,
  271733878,
  3285377520
]);
var SHA1_W = /* @__PURE__ */ new Uint32Array(80);
var _SHA1 = class extends HashMD {
  static {
    __name(this, "_SHA1");
  }
  A = SHA1_IV[0] | 0;
  B = SHA1_IV[1] | 0;
  C = SHA1_IV[2] | 0;
  D = SHA1_IV[3] | 0;
  E = SHA1_IV[4] | 0;
  constructor() {
    super(64, 20, 8, false);
  }
  get() {
    const { A, B, C, D, E } = this;
    return [A, B, C, D, E];
  }
  set(A, B, C, D, E) {
    this.A = A | 0;
    this.B = B | 0;
    this.C = C | 0;
    this.D = D | 0;
    this.E = E | 0;
  }
  _cloneInto(to) {
    (to ||= new this.constructor()).set(...this.get());
    return this._cloneIntoMeta(to);
  }
  process(view, offset) {
    for (let i = 0; i < 16; i++, offset += 4)
      SHA1_W[i] = view.getUint32(offset, false);
    for (let i = 16; i < 80; i++)
      SHA1_W[i] = rotl(SHA1_W[i - 3] ^ SHA1_W[i - 8] ^ SHA1_W[i - 14] ^ SHA1_W[i - 16], 1);
    let { A, B, C, D, E } = this;
    for (let i = 0; i < 80; i++) {
      let F, K;
      if (i < 20) {
        F = Chi(B, C, D);
        K = 1518500249;
      } else if (i < 40) {
        F = B ^ C ^ D;
        K = 1859775393;
      } else if (i < 60) {
        F = Maj(B, C, D);
        K = 2400959708;
      } else {
        F = B ^ C ^ D;
        K = 3395469782;
      }
      const T = rotl(A, 5) + F + E + K + SHA1_W[i] | 0;
      E = D;
      D = C;
      C = rotl(B, 30);
      B = A;
      A = T;
    }
    A = A + this.A | 0;
    B = B + this.B | 0;
    C = C + this.C | 0;
    D = D + this.D | 0;
    E = E + this.E | 0;
    this.set(A, B, C, D, E);
  }
  roundClean() {
    clean(SHA1_W);
  }
  destroy() {
    this.destroyed = true;
    this.set(0, 0, 0, 0, 0);
    clean(this.buffer);
  }
};
var sha1 = /* @__PURE__ */ createHasher(() => new _SHA1());

// ../../node_modules/.pnpm/@noble+hashes@2.4.0/node_modules/@noble/hashes/sha2.js
var SHA256_K = /* @__PURE__ */ Uint32Array.from([
  1116352408,
  1899447441,
  3049323471,
  3921009573,
  961987163,
  1508970993,
  2453635748,
  2870763221,
  3624381080,
  310598401,
  607225278,
  1426881987,
  1925078388,
  2162078206,
  2614888103,
  3248222580,
  3835390401,
  4022224774,
  264347078,
  604807628,
  770255983,
  1249150122,
  1555081692,
  1996064986,
  2554220882,
  2821834349,
  2952996808,
  3210313671,
  3336571891,
  3584528711,
  113926993,
  338241895,
  666307205,
  773529912,
  1294757372,
  1396182291,
  1695183700,
  1986661051,
  2177026350,
  2456956037,
  2730485921,
  2820302411,
  3259730800,
  3345764771,
  3516065817,
  3600352804,
  4094571909,
  275423344,
  430227734,
  506948616,
  659060556,
  883997877,
  958139571,
  1322822218,
  1537002063,
  1747873779,
  1955562222,
  2024104815,
  2227730452,
  2361852424,
  2428436474,
  2756734187,
  3204031479,
  3329325298
]);
var SHA256_W = /* @__PURE__ */ new Uint32Array(64);
var SHA2_32B = class extends HashMD {
  static {
    __name(this, "SHA2_32B");
  }
  // We cannot use array here since array allows indexing by variable
  // which means optimizer/compiler cannot use registers.
  // Numeric initializers matter: starting the fields as `undefined` changes
  // V8's field representation and makes sha256 3x slower (measured).
  A = 0;
  B = 0;
  C = 0;
  D = 0;
  E = 0;
  F = 0;
  G = 0;
  H = 0;
  constructor(outputLen, IV) {
    super(64, outputLen, 8, false);
    this.A = IV[0] | 0;
    this.B = IV[1] | 0;
    this.C = IV[2] | 0;
    this.D = IV[3] | 0;
    this.E = IV[4] | 0;
    this.F = IV[5] | 0;
    this.G = IV[6] | 0;
    this.H = IV[7] | 0;
  }
  get() {
    const { A, B, C, D, E, F, G, H } = this;
    return [A, B, C, D, E, F, G, H];
  }
  // prettier-ignore
  set(A, B, C, D, E, F, G, H) {
    this.A = A | 0;
    this.B = B | 0;
    this.C = C | 0;
    this.D = D | 0;
    this.E = E | 0;
    this.F = F | 0;
    this.G = G | 0;
    this.H = H | 0;
  }
  _cloneInto(to) {
    (to ||= new this.constructor()).set(...this.get());
    return this._cloneIntoMeta(to);
  }
  process(view, offset) {
    for (let i = 0; i < 16; i++, offset += 4)
      SHA256_W[i] = view.getUint32(offset, false);
    for (let i = 16; i < 64; i++) {
      const W15 = SHA256_W[i - 15];
      const W2 = SHA256_W[i - 2];
      const s0 = rotr(W15, 7) ^ rotr(W15, 18) ^ W15 >>> 3;
      const s1 = rotr(W2, 17) ^ rotr(W2, 19) ^ W2 >>> 10;
      SHA256_W[i] = s1 + SHA256_W[i - 7] + s0 + SHA256_W[i - 16] | 0;
    }
    let { A, B, C, D, E, F, G, H } = this;
    for (let i = 0; i < 64; i++) {
      const sigma1 = rotr(E, 6) ^ rotr(E, 11) ^ rotr(E, 25);
      const T1 = H + sigma1 + Chi(E, F, G) + SHA256_K[i] + SHA256_W[i] | 0;
      const sigma0 = rotr(A, 2) ^ rotr(A, 13) ^ rotr(A, 22);
      const T2 = sigma0 + Maj(A, B, C) | 0;
      H = G;
      G = F;
      F = E;
      E = D + T1 | 0;
      D = C;
      C = B;
      B = A;
      A = T1 + T2 | 0;
    }
    A = A + this.A | 0;
    B = B + this.B | 0;
    C = C + this.C | 0;
    D = D + this.D | 0;
    E = E + this.E | 0;
    F = F + this.F | 0;
    G = G + this.G | 0;
    H = H + this.H | 0;
    this.set(A, B, C, D, E, F, G, H);
  }
  roundClean() {
    clean(SHA256_W);
  }
  destroy() {
    this.destroyed = true;
    this.set(0, 0, 0, 0, 0, 0, 0, 0);
    clean(this.buffer);
  }
};
var _SHA256 = class extends SHA2_32B {
  static {
    __name(this, "_SHA256");
  }
  constructor() {
    super(32, SHA256_IV);
  }
};
var sha256 = /* @__PURE__ */ createHasher(
  () => new _SHA256(),
  /* @__PURE__ */ oidNist(1)
);

// ../../packages/core/dist/platform-portable.js
var encoder = new TextEncoder();
var decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
function hmac2(hash, key, data) {
  return hmac(hash === "sha1" ? sha1 : sha256, typeof key === "string" ? toUtf8(key) : key, data);
}
__name(hmac2, "hmac");
function equalDigests(a, b) {
  if (a.length !== b.length)
    return false;
  let difference = 0;
  for (const [index, byte] of a.entries())
    difference |= byte ^ (b[index] ?? 0);
  return difference === 0;
}
__name(equalDigests, "equalDigests");
function isSignedWith(secret, data, hex) {
  return equalDigests(hmac2("sha1", secret, data), fromHex(hex));
}
__name(isSignedWith, "isSignedWith");
function toUtf8(text) {
  return encoder.encode(text);
}
__name(toUtf8, "toUtf8");
function fromUtf8(bytes) {
  try {
    return decoder.decode(bytes);
  } catch {
    return void 0;
  }
}
__name(fromUtf8, "fromUtf8");
function toHex(bytes) {
  let hex = "";
  for (const byte of bytes)
    hex += byte.toString(16).padStart(2, "0");
  return hex;
}
__name(toHex, "toHex");
function fromHex(hex) {
  const bytes = new Uint8Array(hex.length / 2);
  for (const index of bytes.keys())
    bytes[index] = Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16);
  return bytes;
}
__name(fromHex, "fromHex");
var debug = Object.assign(() => {
}, { enabled: false });

// ../../packages/core/dist/compact-json.js
var QUOTE = 34;
var COMMA = 44;
var MINUS = 45;
var POINT = 46;
var ZERO = 48;
var NINE = 57;
var COLON = 58;
var BACKSLASH = 92;
var OPEN_OBJECT = 123;
var CLOSE_OBJECT = 125;
var OUTSIDE = /[[\]{},:a-z]/;
var ESCAPES = /["\\bfnrt]/;
var MAX_DEPTH = 64;
var MAX_KEYS = 2048;
var places = new Int32Array(MAX_KEYS * 2);
var openObjects = new Int32Array(MAX_DEPTH);
var isOutside = bytesMatching(OUTSIDE);
var isEscape = bytesMatching(ESCAPES);
function bytesMatching(pattern) {
  return Uint8Array.from({ length: 256 }, (_, byte) => pattern.test(String.fromCharCode(byte)) ? 1 : 0);
}
__name(bytesMatching, "bytesMatching");
function isCompactJson(bytes) {
  places.fill(0);
  let depth = -1;
  let [objects, keys, index] = [0, 0, 0];
  while (index < bytes.length) {
    const byte = bytes[index];
    if (byte === QUOTE) {
      const end = endOfString(bytes, index);
      if (end === -1)
        return false;
      if (bytes[end] === COLON) {
        keys += 1;
        if (depth === -1 || keys > MAX_KEYS || isDigit(bytes[index + 1]))
          return false;
        if (!isNewKey(hashOf(bytes, index, end, openObjects[depth])))
          return false;
      }
      index = end;
    } else if (byte === MINUS || isDigit(byte)) {
      index = endOfNumber(bytes, index);
      if (index === -1)
        return false;
    } else {
      if (isOutside[byte] === 0)
        return false;
      if (byte === OPEN_OBJECT) {
        depth += 1;
        if (depth === MAX_DEPTH)
          return false;
        objects += 1;
        openObjects[depth] = objects;
      } else if (byte === CLOSE_OBJECT) {
        if (depth === -1)
          return false;
        depth -= 1;
      }
      index += 1;
    }
  }
  return true;
}
__name(isCompactJson, "isCompactJson");
function endOfString(bytes, start) {
  for (let index = start + 1; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (byte === QUOTE)
      return index + 1;
    if (byte !== BACKSLASH)
      continue;
    index += 1;
    if (isEscape[bytes[index] ?? 0] === 0)
      return -1;
  }
  return -1;
}
__name(endOfString, "endOfString");
function endOfNumber(bytes, start) {
  const first = bytes[start] === MINUS ? start + 1 : start;
  const point = endOfDigits(bytes, first);
  const digits = point - first;
  const isZero = bytes[first] === ZERO;
  if (digits === 0 || digits > 15 || isZero && digits > 1)
    return -1;
  let end = point;
  if (bytes[point] === POINT) {
    end = endOfDigits(bytes, point + 1);
    const decimals = end - point - 1;
    if (decimals === 0 || decimals > 6 || digits > 9 || bytes[end - 1] === ZERO)
      return -1;
  } else if (isZero && first !== start) {
    return -1;
  }
  const next = bytes[end];
  return next === COMMA || next === 93 || next === CLOSE_OBJECT || next === void 0 ? end : -1;
}
__name(endOfNumber, "endOfNumber");
function endOfDigits(bytes, start) {
  let index = start;
  while (isDigit(bytes[index]))
    index += 1;
  return index;
}
__name(endOfDigits, "endOfDigits");
function hashOf(bytes, start, end, object) {
  let hash = Math.imul(object, 2654435761);
  for (let index = start + 1; index < end; index += 1) {
    hash = Math.imul(hash ^ bytes[index], 16777619);
  }
  hash ^= hash >>> 15;
  return hash === 0 ? 1 : hash;
}
__name(hashOf, "hashOf");
function isNewKey(hash) {
  const mask = places.length - 1;
  let place = hash & mask;
  for (; places[place] !== 0; place = place + 1 & mask)
    if (places[place] === hash)
      return false;
  places[place] = hash;
  return true;
}
__name(isNewKey, "isNewKey");
function isDigit(byte) {
  return byte !== void 0 && byte >= ZERO && byte <= NINE;
}
__name(isDigit, "isDigit");

// ../../packages/core/dist/signature.js
var HEX_DIGEST = /^[0-9a-f]{40}$/i;
var MAX_REWRITTEN_BYTES = 131072;
function matchSignature(bytes, hex, secrets, strict) {
  const secretIndex = matchingSecret(bytes, hex, secrets);
  if (secretIndex !== -1)
    return { secretIndex, verifiedOver: "bytes", covered: bytes };
  if (strict || bytes.length > MAX_REWRITTEN_BYTES)
    return void 0;
  if (isCompactJson(bytes))
    return void 0;
  const text = fromUtf8(bytes);
  const rewritten = reserialize(text);
  if (rewritten === void 0 || rewritten === text)
    return void 0;
  const covered = toUtf8(rewritten);
  const rewrittenIndex = matchingSecret(covered, hex, secrets);
  return rewrittenIndex === -1 ? void 0 : { secretIndex: rewrittenIndex, verifiedOver: "json", covered };
}
__name(matchSignature, "matchSignature");
function reserialize(text) {
  if (text === void 0)
    return void 0;
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return void 0;
  }
}
__name(reserialize, "reserialize");
function readSignature(header) {
  const value = Array.isArray(header) && header.length < 2 ? header[0] : header;
  if (value == null || value === "")
    return { ok: false, code: "ERR_SIGNATURE_MISSING" };
  if (typeof value !== "string" || !HEX_DIGEST.test(value)) {
    return { ok: false, code: "ERR_SIGNATURE_MALFORMED" };
  }
  return { ok: true, hex: value.toLowerCase() };
}
__name(readSignature, "readSignature");
function secretList(secret) {
  const secrets = typeof secret === "string" ? [secret] : secret;
  if (!Array.isArray(secrets) || secrets.length === 0) {
    throw new TypeError("The secret must be a non-empty string or a non-empty list of them.");
  }
  for (const one of secrets)
    checkSecret(one);
  return secrets;
}
__name(secretList, "secretList");
function matchingSecret(bytes, hex, secrets) {
  let index = 0;
  for (const secret of secrets) {
    if (isSignedWith(secret, bytes, hex))
      return index;
    index += 1;
  }
  return -1;
}
__name(matchingSecret, "matchingSecret");
function checkSecret(secret) {
  if (typeof secret === "string" && secret !== "")
    return;
  throw new TypeError(`The secret must be a non-empty string, but is ${secret === "" ? "empty" : typeof secret}.`);
}
__name(checkSecret, "checkSecret");
function bodyBytes(body) {
  if (typeof body === "string")
    return toUtf8(body);
  if (body instanceof Uint8Array)
    return body;
  throw new TypeError(`The body must be the exact bytes or text that was sent, but is ${body === null ? "null" : typeof body}. Pass the raw body: a parsed object no longer has the bytes that were signed.`);
}
__name(bodyBytes, "bodyBytes");

// ../../packages/core/dist/request.js
function headerValue(headers, name) {
  if (isHeaders(headers))
    return headers.get(name) ?? void 0;
  let found;
  for (const key of Object.keys(headers)) {
    const value = key.length === name.length && key.toLowerCase() === name ? headers[key] : void 0;
    if (value === void 0)
      continue;
    const text = typeof value === "string" ? value : value.join(", ");
    found = found === void 0 ? text : `${found}, ${text}`;
  }
  return found;
}
__name(headerValue, "headerValue");
function isHeaders(headers) {
  return typeof headers["get"] === "function";
}
__name(isHeaders, "isHeaders");
function checkHead(request, maxBodyBytes) {
  if (request.method !== "POST")
    throw new WebhookError("ERR_METHOD_NOT_ALLOWED");
  if (!isJson(headerValue(request.headers, "content-type")))
    throw new WebhookError("ERR_MEDIA_TYPE");
  const encoding = headerValue(request.headers, "content-encoding")?.trim().toLowerCase();
  if (encoding !== void 0 && encoding !== "" && encoding !== "identity") {
    throw new WebhookError("ERR_CONTENT_ENCODING");
  }
  if (Number(headerValue(request.headers, "content-length") ?? 0) > maxBodyBytes)
    throw bodyTooLarge(maxBodyBytes);
}
__name(checkHead, "checkHead");
function bodyTooLarge(maxBodyBytes) {
  return new WebhookError("ERR_BODY_TOO_LARGE", {
    message: `The body is larger than the ${maxBodyBytes} bytes this receiver accepts.`
  });
}
__name(bodyTooLarge, "bodyTooLarge");
function readBody(body, options, done) {
  const { maxBytes } = options;
  if (body.from === "stream") {
    if (body.readThen === void 0) {
      unlessTooLarge(body.read({ maxBytes }), maxBytes).then((read2) => done(void 0, read2), done);
    } else {
      body.readThen({ maxBytes }, (error, bytes) => {
        if (bytes === void 0)
          done(error);
        else
          done(void 0, { bytes, received: bytes });
      });
    }
    return;
  }
  let read;
  try {
    read = keptBody(body, options);
  } catch (error) {
    return done(error);
  }
  done(void 0, read);
}
__name(readBody, "readBody");
async function unlessTooLarge(reading, maxBytes) {
  const bytes = await reading;
  if (bytes.length > maxBytes)
    throw bodyTooLarge(maxBytes);
  return { bytes, received: bytes };
}
__name(unlessTooLarge, "unlessTooLarge");
function keptBody(body, { maxBytes, strict }) {
  if (body.from === "gone")
    throw alreadyRead(body.hint);
  if (body.from === "parsed" && strict)
    throw alreadyRead(withStrict(body.hint));
  const bytes = body.from === "raw" ? bodyBytes(body.value) : writtenAgain(body.value, body.hint);
  if (bytes.length > maxBytes)
    throw bodyTooLarge(maxBytes);
  return { bytes, received: body.from === "parsed" ? void 0 : bytes };
}
__name(keptBody, "keptBody");
function withStrict(hint) {
  return `Only a parsed body was kept, and with strict only the exact bytes count. ${hint ?? ""}`.trim();
}
__name(withStrict, "withStrict");
function writtenAgain(value, hint) {
  try {
    return toUtf8(JSON.stringify(value, refuseInfinity));
  } catch (cause) {
    if (!(cause instanceof RangeError))
      throw alreadyRead(hint, cause);
    throw new WebhookError("ERR_SIGNATURE_MISMATCH", {
      hint: "The parsed body cannot be what was signed: it is nested too deeply, or has a number that is too large for JSON.",
      cause
    });
  }
}
__name(writtenAgain, "writtenAgain");
function refuseInfinity(_key, value) {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new RangeError("JSON cannot represent Infinity.");
  return value;
}
__name(refuseInfinity, "refuseInfinity");
function alreadyRead(hint, cause) {
  return new WebhookError("ERR_BODY_ALREADY_READ", { ...hint === void 0 ? {} : { hint }, cause });
}
__name(alreadyRead, "alreadyRead");
var JSON_TYPE = /^application\/(?:[\w.!#$&^-]+\+)?json$/i;
var UTF8_CHARSET = /^charset\s*=\s*"?utf-?8"?$/i;
function isJson(contentType) {
  if (contentType === "application/json")
    return true;
  const [type = "", ...parameters] = (contentType ?? "").split(";").map((part) => part.trim());
  return JSON_TYPE.test(type) && parameters.every((part) => !/^charset\s*=/i.test(part) || UTF8_CHARSET.test(part));
}
__name(isJson, "isJson");

// ../../packages/core/dist/read-stream.js
async function readStream(stream, options) {
  if (stream.locked)
    throw new WebhookError("ERR_BODY_ALREADY_READ");
  const reader = stream.getReader();
  const body = createBodyBuffer(options.maxBytes);
  for (; ; ) {
    const { done, value } = await reader.read().catch((cause) => {
      throw new WebhookError("ERR_BODY_ABORTED", { cause });
    });
    if (done)
      return body.bytes();
    if (body.append(value))
      continue;
    reader.cancel().catch(() => {
    });
    throw bodyTooLarge(options.maxBytes);
  }
}
__name(readStream, "readStream");

// ../../packages/core/dist/request-body.js
var ALREADY_READ = "Something read request.body before verifyWebhook(), and a body can be read only once. Verify first, read request.clone() instead, or pass new Request(request, { body: bytes }) with the bytes that were read.";
function requestBody(request) {
  if (request.bodyUsed)
    return { from: "gone", hint: ALREADY_READ };
  return { from: "stream", read: /* @__PURE__ */ __name(({ maxBytes }) => readRequest(request, maxBytes), "read") };
}
__name(requestBody, "requestBody");
async function readRequest(request, maxBytes) {
  try {
    if (Number(request.headers.get("content-length")) > 0)
      return new Uint8Array(await request.arrayBuffer());
    return request.body === null ? new Uint8Array() : await readStream(request.body, { maxBytes });
  } catch (cause) {
    if (!request.bodyUsed)
      throw new WebhookError("ERR_BODY_ALREADY_READ", { hint: ALREADY_READ, cause });
    throw cause instanceof WebhookError ? cause : new WebhookError("ERR_BODY_ABORTED", { cause });
  }
}
__name(readRequest, "readRequest");

// ../../packages/protocol/dist/options.js
function checkOptionNames(what, options, names, hints) {
  if (!isObject(options)) {
    const known = Object.keys(names).join(", ");
    throw new TypeError(`${what} takes an options object, { ${known} }, not ${describeKind(options)}.`);
  }
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (unknown === void 0)
    return;
  throw new TypeError(`${what}: unknown option ${quote(unknown)}${nameHint(unknown, names, hints)}`);
}
__name(checkOptionNames, "checkOptionNames");
function nameHint(name, names, hints = {}) {
  if (Object.hasOwn(hints, name))
    return `: ${hints[name]}.`;
  const known = Object.keys(names);
  const nearest = nearestName(name, known);
  return nearest === void 0 ? `. Known: ${known.join(", ")}.` : `; did you mean ${quote(nearest)}?`;
}
__name(nameHint, "nameHint");
function nearestName(name, known) {
  let best;
  let least = Number.POSITIVE_INFINITY;
  for (const other of known) {
    const changes = editDistance(name.toLowerCase(), other.toLowerCase());
    if (changes >= least || changes > Math.max(1, Math.floor(other.length / 3)))
      continue;
    best = other;
    least = changes;
  }
  return best;
}
__name(nearestName, "nearestName");
function checkPort(what, value, methods) {
  const missing = methods.find((name) => typeof Reflect.get(Object(value), name) !== "function");
  if (missing === void 0)
    return;
  const needed = methods.map((name) => `${name}()`).join(", ");
  const fault = Object(value) === value ? `${missing}() is missing` : `got ${describeKind(value)}`;
  throw new TypeError(`${what} must be an object with ${needed}: ${fault}.`);
}
__name(checkPort, "checkPort");
function checkFunction(what, value) {
  if (value === void 0 || typeof value === "function")
    return;
  throw new TypeError(`${what} must be a function, not ${describeKind(value)}.`);
}
__name(checkFunction, "checkFunction");
function editDistance(from, to) {
  if (Math.abs(from.length - to.length) > to.length)
    return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let index = 0; index < from.length; index += 1) {
    const next = [index + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (from[index] === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
__name(editDistance, "editDistance");

// ../../packages/core/dist/diagnose.js
var DIAGNOSES = {
  "secret-white-space": "The signature matches the secret with white space around it. Trim the secret on the side that has the space.",
  "secret-quotes": "The signature matches the secret with or without quotation marks around it. Something, such as docker --env-file, takes the quotes of an .env file as part of the value. Remove them.",
  "retired-secret": "The signature matches a retired secret. Give the sender the new one, or list both while you rotate.",
  "prefixed-signature": "The signature has an algorithm before it, such as sha1=. The header must be only the hex digits.",
  sha256: "The signature is an HMAC-SHA256. The service signs with HMAC-SHA1.",
  base64: "The signature is in base64. The service sends hex digits.",
  "re-serialized": "The signature matches the body serialised again by JSON.stringify. A proxy re-spaced the JSON. Without strict, it is accepted.",
  "pretty-printed": "The signature matches the body indented by two spaces. The sender signs a different string than it sends, or a body parser kept only the parsed value.",
  "trailing-newline": "The signature matches the body with a newline added to or removed from its end. A tool or a proxy changed it.",
  "first-of-array": "The signature matches only the first element of the array. Turn batching off at the sender: the rest is unsigned.",
  "empty-body": "The signature matches an empty body. The sender signs before it has written the body.",
  "serialized-bytes": "The signature matches the bytes that the body lists: a library serialised a Buffer or Uint8Array as JSON. Send the text instead. With supertest, use .send(signedRequest(...).text).",
  "parsed-before": "The sender has another secret, or it signed JSON that JSON.stringify writes differently: a body parser read the request before and kept only the parsed value. Compare the secrets first. If they are the same, mount verifyWebhook() before the body parser, or let the parser keep the bytes in request.rawBody."
};
var PARSED_BEFORE = {
  code: "parsed-before",
  message: DIAGNOSES["parsed-before"]
};
var MAX_BYTES = 65536;
function diagnose(input) {
  const bytes = bodyBytes(input.body);
  if (bytes.length > MAX_BYTES)
    return [];
  const candidate = readLoosely(input.signature);
  if (candidate === void 0)
    return [];
  const secrets = secretList(input.secret).map((key) => ({ key, why: NOTHING }));
  const bodies = [{ bytes, why: NOTHING }, ...otherBodies(bytes)];
  const keys = [...secrets, ...otherKeys(secretList(input.secret), input.retiredSecrets ?? [])];
  const tries = [
    ...bodies.flatMap((body) => secrets.map((secret) => ({ body, secret }))),
    ...keys.map((secret) => ({ body: { bytes, why: NOTHING }, secret }))
  ];
  const found = tries.find(({ body, secret }) => equalDigests(hmac2(candidate.hash, secret.key, body.bytes), candidate.digest));
  if (found === void 0)
    return [];
  return explain([...candidate.why, ...found.body.why, ...found.secret.why]);
}
__name(diagnose, "diagnose");
function diagnoseForm(signature) {
  return explain(readLoosely(signature)?.why ?? NOTHING);
}
__name(diagnoseForm, "diagnoseForm");
function explain(why) {
  return why.map((code) => ({ code, message: DIAGNOSES[code] }));
}
__name(explain, "explain");
var NOTHING = [];
function readLoosely(header) {
  const value = Array.isArray(header) ? header[0] : header;
  if (typeof value !== "string")
    return void 0;
  const text = value.trim();
  const digits = text.replace(/^(?:hmac-)?sha-?(?:1|256)\s*[=:]\s*/i, "");
  const why = digits === text ? [] : ["prefixed-signature"];
  const digest2 = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i.test(digits) ? fromHex(digits) : fromBase64(digits);
  if (digest2?.length !== 20 && digest2?.length !== 32)
    return void 0;
  if (digest2.length === 32)
    why.push("sha256");
  if (digits.length !== digest2.length * 2)
    why.push("base64");
  return { digest: digest2, hash: digest2.length === 32 ? "sha256" : "sha1", why };
}
__name(readLoosely, "readLoosely");
function fromBase64(text) {
  if (!/^[\w+/-]{27,43}={0,2}$/.test(text))
    return void 0;
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(binary, (character) => character.codePointAt(0) ?? 0);
  } catch {
    return void 0;
  }
}
__name(fromBase64, "fromBase64");
function otherBodies(bytes) {
  const text = fromUtf8(bytes);
  const bodies = [["empty-body", ""]];
  if (text !== void 0) {
    bodies.unshift(["trailing-newline", `${text}
`], ["trailing-newline", `${text}\r
`], ["trailing-newline", text.replace(/\r?\n$/, "")]);
  }
  const rewritten = reserialize(text);
  if (rewritten !== void 0)
    bodies.unshift(...otherJson(rewritten));
  return bodies.flatMap(([code, body]) => body === text ? [] : [{ bytes: toUtf8(body), why: [code] }]);
}
__name(otherBodies, "otherBodies");
var MAX_DEPTH2 = 32;
function otherJson(rewritten) {
  const bodies = [["re-serialized", rewritten]];
  if (depthOf(rewritten) > MAX_DEPTH2)
    return bodies;
  const value = JSON.parse(rewritten);
  bodies.push(["pretty-printed", JSON.stringify(value, null, 2)]);
  if (Array.isArray(value) && value.length > 0)
    bodies.push(["first-of-array", JSON.stringify(value[0])]);
  const serialized = bytesOf(value);
  if (serialized !== void 0)
    bodies.push(["serialized-bytes", serialized]);
  return bodies;
}
__name(otherJson, "otherJson");
function bytesOf(value) {
  if (typeof value !== "object" || value === null)
    return void 0;
  const { type, data } = value;
  const bytes = type === "Buffer" && Array.isArray(data) ? data : Object.values(value);
  const isBytes2 = bytes.every((byte) => typeof byte === "number" && byte >= 0 && byte < 256);
  return isBytes2 && bytes.length > 0 ? fromUtf8(Uint8Array.from(bytes)) : void 0;
}
__name(bytesOf, "bytesOf");
function depthOf(json) {
  let depth = 0;
  let deepest = 0;
  for (const [bracket] of json.matchAll(/[[\]{}]/g)) {
    depth += bracket === "[" || bracket === "{" ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}
__name(depthOf, "depthOf");
function otherKeys(secrets, retired) {
  const spaced = secrets.flatMap((secret) => [secret.trim(), `${secret}
`, `${secret}\r
`, `${secret} `, ` ${secret}`].filter((key) => key !== secret && key !== "").map((key) => ({ key, why: ["secret-white-space"] })));
  const quoted = secrets.flatMap((secret) => [/^(["']).+\1$/.test(secret) ? secret.slice(1, -1) : "", `"${secret}"`, `'${secret}'`].filter((key) => key !== "").map((key) => ({ key, why: ["secret-quotes"] })));
  return [...spaced, ...quoted, ...retired.map((key) => ({ key, why: ["retired-secret"] }))];
}
__name(otherKeys, "otherKeys");

// ../../packages/core/dist/events.js
function checkEvents(events, invalidEvents) {
  if (events !== void 0 && typeof events?.schemas !== "object") {
    throw new TypeError("The option events must come from defineEvents().");
  }
  if (!INVALID_EVENTS.has(invalidEvents)) {
    throw new TypeError('The option invalidEvents must be "reject" or "report".');
  }
}
__name(checkEvents, "checkEvents");
var INVALID_EVENTS = /* @__PURE__ */ new Set([
  void 0,
  "reject",
  "report"
]);
var outputs = /* @__PURE__ */ new WeakMap();
var reports = /* @__PURE__ */ new WeakMap();
async function validateEvent(message, events, mode = "reject") {
  if (mode === "reject")
    return { message: await validOutput(message, events), issues: void 0 };
  const known = outputs.get(message);
  const received = known?.received ?? message;
  if (known?.events === events)
    return { message: received, issues: void 0 };
  const report = reports.get(received);
  if (report?.events === events)
    return { message: received, issues: report.issues };
  const issues = (await validate(received, events))?.issues;
  reports.set(received, { events, issues });
  return { message: received, issues };
}
__name(validateEvent, "validateEvent");
async function validOutput(message, events) {
  if (outputs.get(message)?.events === events)
    return message;
  const result = await validate(message, events);
  if (result === void 0)
    return message;
  if (result.issues) {
    const { event } = message;
    throw new WebhookError("ERR_INVALID_MESSAGE", {
      message: `Event "${event}" does not match its schema: ${describeAll(result.issues)}.`,
      hint: 'The message is authentic, but its properties are not what defineEvents() says. Fix the code that records it, or accept it with invalidEvents: "report".',
      cause: result.issues
    });
  }
  const output = { ...message, properties: result.value };
  outputs.set(output, { events, received: message });
  return output;
}
__name(validOutput, "validOutput");
async function validate(message, events) {
  if (message.type !== "track")
    return void 0;
  const { event, properties } = message;
  const schema = Object.hasOwn(events.schemas, event) ? events.schemas[event] : void 0;
  return schema?.["~standard"].validate(properties ?? {});
}
__name(validate, "validate");
var MAX_ISSUES = 5;
function describeAll(issues) {
  const more = issues.length > MAX_ISSUES ? `; and ${issues.length - MAX_ISSUES} more` : "";
  return issues.slice(0, MAX_ISSUES).map(describe).join("; ") + more;
}
__name(describeAll, "describeAll");
function describe(issue) {
  const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
  return [["properties", ...path].join("."), issue.message].join(": ");
}
__name(describe, "describe");

// ../../packages/protocol/dist/repeat-content.js
var VARIABLE_FIELDS = /* @__PURE__ */ new Set([
  "version",
  "context",
  "integrations",
  "timestamp",
  "receivedAt",
  "sentAt",
  "originalTimestamp"
]);
function repeatContent(message) {
  try {
    return JSON.stringify(Object.entries(message).filter(([name]) => !VARIABLE_FIELDS.has(name)));
  } catch {
    return void 0;
  }
}
__name(repeatContent, "repeatContent");

// ../../packages/core/dist/dedupe-key.js
function dedupeKey(message, covered, scope) {
  const { type, messageId } = message;
  const content = typeof messageId === "string" && messageId !== "" ? repeatContent(message) : void 0;
  const delivery = content === void 0 ? ["text", digest("text", covered)] : ["id", type, messageId, content];
  const whose = [scope.by, scope.by === "tenant" ? scope.tenant : ""];
  const key = scope.by === "secret" ? scope.secret : "dedupe";
  return digest(key, toUtf8(JSON.stringify([...whose, ...delivery])));
}
__name(dedupeKey, "dedupeKey");
function digest(key, data) {
  return toHex(hmac2("sha256", key, data));
}
__name(digest, "digest");

// ../../packages/core/dist/explain.js
var UNEXPLAINED = "None of the usual causes explains it: the sender has another secret, the request is a forgery, or a proxy changed the body. Compare the secrets first, then compare receivedBody with the body that was sent.";
function explain2(error, { header, secrets, body }, retiredSecrets) {
  let diagnoses = [];
  let hint;
  if (error.code === "ERR_SIGNATURE_MALFORMED")
    diagnoses = diagnoseForm(header);
  if (error.code === "ERR_SIGNATURE_MISMATCH" && body !== void 0 && secrets !== void 0) {
    diagnoses = diagnose({ body: body.bytes, signature: header, secret: secrets, retiredSecrets });
    if (diagnoses.length === 0 && body.received === void 0)
      diagnoses = [PARSED_BEFORE];
    if (body.bytes.length <= MAX_REWRITTEN_BYTES)
      hint = UNEXPLAINED;
  }
  hint = diagnoses[0]?.message ?? hint;
  if (hint === void 0)
    return { explained: error, diagnoses };
  const { code, message, cause } = error;
  return { explained: new WebhookError(code, { message, hint, cause }), diagnoses };
}
__name(explain2, "explain");

// ../../packages/core/dist/process.js
function environmentVariable(name) {
  return globalThis.process?.env?.[name];
}
__name(environmentVariable, "environmentVariable");
function emitWarning(message, code) {
  globalThis.process?.emitWarning?.(message, { code });
}
__name(emitWarning, "emitWarning");

// ../../packages/core/dist/warnings.js
var MAX_EXPLAINED_BYTES = 65536;
var QUIET_MS = 6e4;
var warned = /* @__PURE__ */ new Set();
var lastMismatchAt = Number.NEGATIVE_INFINITY;
function warnOnce(message, code) {
  if (warned.has(code))
    return;
  warned.add(code);
  emitWarning(message, code);
}
__name(warnOnce, "warnOnce");
function isWarningDue({ code }) {
  if (code === "ERR_BODY_ALREADY_READ")
    return !warned.has("COUNTERSIGN_BODY_READ");
  if (code !== "ERR_SIGNATURE_MISMATCH" && code !== "ERR_SIGNATURE_MALFORMED")
    return false;
  return Math.abs(Date.now() - lastMismatchAt) >= QUIET_MS;
}
__name(isWarningDue, "isWarningDue");
function isCheapToExplain(body) {
  return (body?.length ?? 0) <= MAX_EXPLAINED_BYTES;
}
__name(isCheapToExplain, "isCheapToExplain");
function warnOfRefusal({ code, hint }) {
  const text = `A webhook was rejected: ${code}. ${hint} Set onRejected to handle every rejection instead of getting warnings`;
  if (code === "ERR_BODY_ALREADY_READ")
    return warnOnce(`${text}.`, "COUNTERSIGN_BODY_READ");
  lastMismatchAt = Date.now();
  emitWarning(`${text}. This warning appears at most once a minute.`, "COUNTERSIGN_SIGNATURE");
}
__name(warnOfRefusal, "warnOfRefusal");
function debugVerdict(verdict, type, more) {
  if (debug.enabled)
    debug("%s", `${verdict} ${quote(type)}${more}`);
}
__name(debugVerdict, "debugVerdict");
function debugRefusal({ status, code, hint }) {
  if (debug.enabled)
    debug("%s", `rejected ${status} ${code}: ${hint}`);
}
__name(debugRefusal, "debugRefusal");

// ../../packages/core/dist/receiver-options.js
var DEFAULT_MAX_BODY_BYTES = 1048576;
var NAMES = {
  secret: true,
  retiredSecrets: true,
  unsigned: true,
  strict: true,
  maxBodyBytes: true,
  allowUnknownTypes: true,
  events: true,
  invalidEvents: true,
  dedupe: true,
  onVerified: true,
  onRejected: true,
  onError: true,
  instrument: true
};
var HINTS = {
  sharedSecret: 'it is called "secret" here',
  secrets: 'pass the list as "secret"'
};
var QUOTED = /^(["'`]).*\1$/s;
var ON_ERROR = /* @__PURE__ */ new Set([void 0, "answer", "throw"]);
function checkOptions(options) {
  checkIsOptions(options);
  checkOptionNames("A webhook receiver", options, NAMES, HINTS);
  for (const name of ["unsigned", "strict", "allowUnknownTypes"]) {
    const kind = typeof options[name];
    if (kind !== "undefined" && kind !== "boolean") {
      throw new TypeError(`The option ${name} must be a boolean, but is of type ${kind}.`);
    }
  }
  for (const name of ["onVerified", "onRejected"]) {
    checkFunction(`The option ${name}`, options[name]);
  }
  const { maxBodyBytes = DEFAULT_MAX_BODY_BYTES, retiredSecrets = [], dedupe, onError } = options;
  if (typeof maxBodyBytes !== "number" || !(maxBodyBytes > 0)) {
    throw new TypeError(`The option maxBodyBytes must be a positive number of bytes, but is ${maxBodyBytes}.`);
  }
  if (!Array.isArray(retiredSecrets))
    throw new TypeError("The option retiredSecrets must be a list.");
  if (retiredSecrets.length > 0)
    secretList(retiredSecrets);
  if (!ON_ERROR.has(onError))
    throw new TypeError('The option onError must be "answer" or "throw".');
  checkEvents(options.events, options.invalidEvents);
  if (dedupe !== void 0) {
    checkPort("The option dedupe, a store such as memoryDedupe(),", dedupe, ["claim", "commit", "release"]);
  }
  if (options.instrument !== void 0) {
    checkPort("The option instrument, such as otel(),", options.instrument, ["receive"]);
  }
}
__name(checkOptions, "checkOptions");
function checkIsOptions(options) {
  if (!isObject(options)) {
    const kind = options === null ? "null" : typeof options;
    throw new TypeError(`A webhook receiver takes an options object such as { secret }, but was given one of type ${kind}.`);
  }
  if ("headers" in options) {
    throw new TypeError("A webhook receiver got a request instead of options. Call the function, and mount what it returns: verifyWebhook({ secret }).");
  }
}
__name(checkIsOptions, "checkIsOptions");
function configuredSecret(options) {
  if (options.unsigned) {
    if (options.secret === void 0)
      return void 0;
    throw new TypeError("unsigned: true and a secret contradict each other: with it, no signature is checked.");
  }
  const secret = options.secret ?? environmentVariable("WEBHOOK_SECRET");
  if (typeof secret === "function")
    return secret;
  if (secret === void 0 || secret === "") {
    throw new TypeError("A webhook receiver needs a secret: pass { secret }, or set the environment variable WEBHOOK_SECRET. To accept messages that anyone could have sent, pass { unsigned: true }.");
  }
  const secrets = usableSecrets(secret);
  if (secrets.some((one) => one !== one.trim() || QUOTED.test(one))) {
    warnOnce("The webhook secret has white space or quotes around it, which are part of the key. Remove them, unless the sender's secret has them, too.", "COUNTERSIGN_SECRET");
  }
  return secrets;
}
__name(configuredSecret, "configuredSecret");
function usableSecrets(secret) {
  const secrets = secretList(secret);
  if (secrets.some((one) => one.trim() === "")) {
    throw new TypeError("The secret must not consist of white space. Set the shared secret.");
  }
  return secrets;
}
__name(usableSecrets, "usableSecrets");

// ../../packages/core/dist/settle.js
function checkClaim(claim) {
  if (claim === "new" || claim === "in-flight" || claim === "done")
    return claim;
  throw new TypeError(`The dedupe store's claim() must return "new", "in-flight" or "done", but returned ${String(claim)}.`);
}
__name(checkClaim, "checkClaim");
var settleNothing = /* @__PURE__ */ __name(() => Promise.resolve(), "settleNothing");
function settleIn(dedupe, key) {
  if (dedupe === void 0 || key === void 0)
    return settleNothing;
  return async (status) => {
    try {
      await (status >= 200 && status < 300 ? dedupe.commit(key) : dedupe.release(key));
    } catch (error) {
      emitWarning(`The dedupe store failed after the webhook was handled: ${String(error)}`, "COUNTERSIGN_DEDUPE");
    }
  };
}
__name(settleIn, "settleIn");

// ../../packages/core/dist/verify-webhook.js
function verifiedWebhook(message, match, { received }, signature) {
  const { covered, secretIndex, verifiedOver } = match;
  return { message, rawBody: covered, receivedBody: received, signature, secretIndex, verifiedOver };
}
__name(verifiedWebhook, "verifiedWebhook");
var TOO_LARGE_TO_REWRITE = `The body has more than ${MAX_REWRITTEN_BYTES} bytes, so only its exact bytes were compared. If a proxy re-spaces the JSON, the signature of such a body cannot match. Compare the secrets, then the bytes.`;
function authenticate({ bytes, received }, signature, secrets, strict) {
  const match = matchSignature(bytes, signature, secrets, strict || received === void 0);
  if (match === void 0) {
    const hint = !strict && received !== void 0 && bytes.length > MAX_REWRITTEN_BYTES;
    throw new WebhookError("ERR_SIGNATURE_MISMATCH", hint ? { hint: TOO_LARGE_TO_REWRITE } : {});
  }
  return received === void 0 ? { ...match, verifiedOver: "json" } : match;
}
__name(authenticate, "authenticate");
function readMessage(covered, options) {
  const text = fromUtf8(covered);
  if (text === void 0)
    throw new WebhookError("ERR_INVALID_UTF8");
  return parseMessage(parseJson(text), options);
}
__name(readMessage, "readMessage");
function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new WebhookError("ERR_INVALID_JSON", { cause });
  }
}
__name(parseJson, "parseJson");

// ../../packages/core/dist/receiver.js
function createReceiver(options = {}) {
  checkOptions(options);
  const secret = configuredSecret(options);
  const { onVerified, onRejected, dedupe, events, strict = false, retiredSecrets = [] } = options;
  const maxBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES;
  const isImmediate = onVerified === void 0 && dedupe === void 0 && events === void 0;
  function checkBefore(request, progress) {
    checkHead(request, maxBytes);
    if (secret === void 0)
      return;
    const header = readSignature(progress.header);
    if (!header.ok)
      throw new WebhookError(header.code);
    progress.signature = header.hex;
    if (typeof secret !== "function")
      progress.secrets = secret;
  }
  __name(checkBefore, "checkBefore");
  function verify(body, progress) {
    progress.body = body;
    const { signature, secrets } = progress;
    const match = signature === void 0 || secrets === void 0 ? { covered: body.bytes, secretIndex: -1, verifiedOver: "none" } : authenticate(body, signature, secrets, strict);
    const message = readMessage(match.covered, options);
    return verifiedWebhook(message, match, body, signature);
  }
  __name(verify, "verify");
  async function accept(verified, request, progress) {
    const key = dedupe && dedupeKey(verified.message, verified.rawBody, scopeOf(progress, verified.secretIndex));
    const webhook = await withValidEvent(verified);
    if (dedupe !== void 0 && key !== void 0) {
      const claim = checkClaim(await dedupe.claim(key));
      if (claim === "in-flight")
        throw new WebhookError("ERR_DUPLICATE_IN_FLIGHT");
      if (claim === "done") {
        debugVerdict("duplicate", webhook.message.type, "");
        return { verdict: "duplicate", webhook, response: ALREADY_HANDLED };
      }
    }
    const settle = settleIn(dedupe, key);
    try {
      await onVerified?.(webhook, request);
    } catch (error) {
      await settle(500);
      throw error;
    }
    return accepted(webhook, settle);
  }
  __name(accept, "accept");
  async function withValidEvent(webhook) {
    if (events === void 0)
      return webhook;
    const { message, issues } = await validateEvent(webhook.message, events, options.invalidEvents);
    return { ...webhook, message, ...issues && { issues } };
  }
  __name(withValidEvent, "withValidEvent");
  function refuse(error, progress) {
    const isWarning = options.onError !== "throw" && isWarningDue(error);
    const refusal = isWarning && isCheapToExplain(progress.body?.bytes) ? explain2(error, progress, retiredSecrets).explained : error;
    debugRefusal(refusal);
    if (isWarning)
      warnOfRefusal(refusal);
    return rejected(refusal);
  }
  __name(refuse, "refuse");
  async function refuseAloud(error, request, progress) {
    const { explained, diagnoses } = explain2(error, progress, retiredSecrets);
    debugRefusal(explained);
    const receivedBody = progress.body?.received;
    await onRejected?.(explained, { request, diagnoses, ...receivedBody && { receivedBody } });
    return rejected(explained);
  }
  __name(refuseAloud, "refuseAloud");
  function rejected(error) {
    if (options.onError === "throw")
      throw error;
    return { verdict: "rejected", error, response: toProblem(error) };
  }
  __name(rejected, "rejected");
  function decide(request, onVerdict, onError) {
    const progress = { header: headerValue(request.headers, "x-signature") };
    const fail = /* @__PURE__ */ __name((error) => {
      if (!(error instanceof WebhookError))
        return onError(error);
      if (onRejected !== void 0) {
        refuseAloud(error, request.request, progress).then(onVerdict, onError);
        return;
      }
      let refusal;
      try {
        refusal = refuse(error, progress);
      } catch (thrown) {
        return onError(thrown);
      }
      onVerdict(refusal);
    }, "fail");
    const onBody = /* @__PURE__ */ __name((error, body) => {
      if (body === void 0)
        return fail(error);
      let webhook;
      try {
        webhook = verify(body, progress);
      } catch (thrown) {
        return fail(thrown);
      }
      if (isImmediate)
        onVerdict(accepted(webhook, settleNothing));
      else
        accept(webhook, request.request, progress).then(onVerdict, fail);
    }, "onBody");
    const read = /* @__PURE__ */ __name(() => readBody(request.body, { maxBytes, strict }, onBody), "read");
    try {
      checkBefore(request, progress);
    } catch (error) {
      return fail(error);
    }
    if (typeof secret === "function")
      findSecrets(secret, request.request, progress).then(read, fail);
    else
      read();
  }
  __name(decide, "decide");
  const { instrument } = options;
  const watched = instrument === void 0 ? decide : (request, onVerdict, onError) => {
    const observation = instrument.receive(request.headers);
    decide(request, (received) => observation.decided(received, () => onVerdict(received)), (error) => observation.failed(error, () => onError(error)));
  };
  return {
    decide: watched,
    receive: /* @__PURE__ */ __name((request) => new Promise((resolve, reject) => watched(request, resolve, reject)), "receive")
  };
}
__name(createReceiver, "createReceiver");
function accepted(webhook, settle) {
  const { message, verifiedOver, secretIndex } = webhook;
  debugVerdict("verified", message.type, ` over ${verifiedOver}, secret ${secretIndex}`);
  return { verdict: "verified", webhook, settle };
}
__name(accepted, "accepted");
async function findSecrets(secret, request, progress) {
  const result = await secret(request);
  const named = typeof result === "object" && result !== null && "tenant" in result;
  if (named && (typeof result.tenant !== "string" || result.tenant === "")) {
    throw new TypeError("The secret function must return the tenant as a non-empty string.");
  }
  const found = named ? result.secret : result;
  if (found == null || found.length === 0) {
    throw new WebhookError("ERR_SIGNATURE_MISMATCH", {
      hint: "The secret function returned no secret for this request."
    });
  }
  progress.secrets = usableSecrets(found);
  progress.tenant = { name: named ? result.tenant : void 0 };
}
__name(findSecrets, "findSecrets");
function scopeOf({ tenant, secrets }, secretIndex) {
  if (tenant === void 0)
    return { by: "none" };
  if (tenant.name !== void 0)
    return { by: "tenant", tenant: tenant.name };
  return { by: "secret", secret: secrets?.[secretIndex] ?? "" };
}
__name(scopeOf, "scopeOf");

// ../../packages/fetch/dist/answer.js
async function answer(receiver, request, { onError }, handle) {
  const received = await receiver.receive(request);
  if (received.verdict !== "verified")
    return toResponse(received.response);
  let status = 500;
  try {
    const response = await handle(received.webhook);
    assertResponse(response);
    status = response.status;
    return response;
  } catch (error) {
    if (error instanceof WebhookError && onError !== "throw")
      return toResponse(toProblem(error));
    throw error;
  } finally {
    await received.settle(status);
  }
}
__name(answer, "answer");
function checkHandler(name, handler) {
  if (typeof handler !== "function") {
    throw new TypeError(`${name}() needs a handler: ${name}({ secret }, ({ message }) => ...).`);
  }
}
__name(checkHandler, "checkHandler");
function toResponse({ status, headers, body }) {
  return new Response(body === "" ? null : body, { status, headers });
}
__name(toResponse, "toResponse");
function assertResponse(response) {
  if (typeof response?.status === "number")
    return;
  throw new TypeError(`The webhook's handler must return a Response, but returned ${response === null ? "null" : typeof response}. For no content: new Response(null, { status: 204 }).`);
}
__name(assertResponse, "assertResponse");

// ../../packages/fetch/dist/handler-options.js
function withContext(options) {
  if (typeof options !== "object" || options === null)
    return options;
  const { secret, onVerified, onRejected } = options;
  return {
    ...options,
    ...typeof secret === "function" && {
      secret: /* @__PURE__ */ __name(({ request, context }) => secret(request, context), "secret")
    },
    ...typeof onVerified === "function" && {
      onVerified: /* @__PURE__ */ __name((webhook, { request, context }) => onVerified(webhook, request, context), "onVerified")
    },
    ...typeof onRejected === "function" && {
      onRejected: /* @__PURE__ */ __name((error, rejected) => {
        const { request, context } = rejected.request;
        return onRejected(error, { ...rejected, request }, context);
      }, "onRejected")
    }
  };
}
__name(withContext, "withContext");

// ../../packages/fetch/dist/verify-webhook.js
function toWebhookRequest(request, own2) {
  if (typeof request?.headers?.get !== "function") {
    throw new TypeError("Pass a web-standard Request. In Hono: (c) => handler(c.req.raw).");
  }
  return { method: request.method, headers: request.headers, body: requestBody(request), request: own2 };
}
__name(toWebhookRequest, "toWebhookRequest");
function webhookHandler(options, handler) {
  const receiver = createReceiver(withContext(options));
  checkHandler("webhookHandler", handler);
  return (request, context) => answer(receiver, toWebhookRequest(request, { request, context }), options, (webhook) => handler(webhook, request, context));
}
__name(webhookHandler, "webhookHandler");

// src/worker.ts
var receive = webhookHandler(
  {
    secret: /* @__PURE__ */ __name((_request, env) => env.WEBHOOK_SECRET, "secret"),
    onRejected: /* @__PURE__ */ __name(({ code, hint }) => console.warn(`refused ${code}: ${hint}`), "onRejected")
  },
  async ({ message }) => {
    console.log(`${message.type} of ${message.userId ?? "someone unknown"}`);
    return new Response(null, { status: 204 });
  }
);
var worker = { fetch: /* @__PURE__ */ __name((request, env) => receive(request, env), "fetch") };
var worker_default = worker;

// ../../node_modules/.pnpm/wrangler@4.86.0_@cloudflare+workers-types@4.20260702.1/node_modules/wrangler/templates/middleware/middleware-ensure-req-body-drained.ts
var drainBody = /* @__PURE__ */ __name(async (request, env, _ctx, middlewareCtx) => {
  try {
    return await middlewareCtx.next(request, env);
  } finally {
    try {
      if (request.body !== null && !request.bodyUsed) {
        const reader = request.body.getReader();
        while (!(await reader.read()).done) {
        }
      }
    } catch (e) {
      console.error("Failed to drain the unused request body.", e);
    }
  }
}, "drainBody");
var middleware_ensure_req_body_drained_default = drainBody;

// ../../node_modules/.pnpm/wrangler@4.86.0_@cloudflare+workers-types@4.20260702.1/node_modules/wrangler/templates/middleware/middleware-miniflare3-json-error.ts
function reduceError(e) {
  return {
    name: e?.name,
    message: e?.message ?? String(e),
    stack: e?.stack,
    cause: e?.cause === void 0 ? void 0 : reduceError(e.cause)
  };
}
__name(reduceError, "reduceError");
var jsonError = /* @__PURE__ */ __name(async (request, env, _ctx, middlewareCtx) => {
  try {
    return await middlewareCtx.next(request, env);
  } catch (e) {
    const error = reduceError(e);
    return Response.json(error, {
      status: 500,
      headers: { "MF-Experimental-Error-Stack": "true" }
    });
  }
}, "jsonError");
var middleware_miniflare3_json_error_default = jsonError;

// .wrangler/tmp/bundle-upzIqT/middleware-insertion-facade.js
var __INTERNAL_WRANGLER_MIDDLEWARE__ = [
  middleware_ensure_req_body_drained_default,
  middleware_miniflare3_json_error_default
];
var middleware_insertion_facade_default = worker_default;

// ../../node_modules/.pnpm/wrangler@4.86.0_@cloudflare+workers-types@4.20260702.1/node_modules/wrangler/templates/middleware/common.ts
var __facade_middleware__ = [];
function __facade_register__(...args) {
  __facade_middleware__.push(...args.flat());
}
__name(__facade_register__, "__facade_register__");
function __facade_invokeChain__(request, env, ctx, dispatch2, middlewareChain) {
  const [head, ...tail] = middlewareChain;
  const middlewareCtx = {
    dispatch: dispatch2,
    next(newRequest, newEnv) {
      return __facade_invokeChain__(newRequest, newEnv, ctx, dispatch2, tail);
    }
  };
  return head(request, env, ctx, middlewareCtx);
}
__name(__facade_invokeChain__, "__facade_invokeChain__");
function __facade_invoke__(request, env, ctx, dispatch2, finalMiddleware) {
  return __facade_invokeChain__(request, env, ctx, dispatch2, [
    ...__facade_middleware__,
    finalMiddleware
  ]);
}
__name(__facade_invoke__, "__facade_invoke__");

// .wrangler/tmp/bundle-upzIqT/middleware-loader.entry.ts
var __Facade_ScheduledController__ = class ___Facade_ScheduledController__ {
  constructor(scheduledTime, cron, noRetry) {
    this.scheduledTime = scheduledTime;
    this.cron = cron;
    this.#noRetry = noRetry;
  }
  static {
    __name(this, "__Facade_ScheduledController__");
  }
  #noRetry;
  noRetry() {
    if (!(this instanceof ___Facade_ScheduledController__)) {
      throw new TypeError("Illegal invocation");
    }
    this.#noRetry();
  }
};
function wrapExportedHandler(worker2) {
  if (__INTERNAL_WRANGLER_MIDDLEWARE__ === void 0 || __INTERNAL_WRANGLER_MIDDLEWARE__.length === 0) {
    return worker2;
  }
  for (const middleware of __INTERNAL_WRANGLER_MIDDLEWARE__) {
    __facade_register__(middleware);
  }
  const fetchDispatcher = /* @__PURE__ */ __name(function(request, env, ctx) {
    if (worker2.fetch === void 0) {
      throw new Error("Handler does not export a fetch() function.");
    }
    return worker2.fetch(request, env, ctx);
  }, "fetchDispatcher");
  return {
    ...worker2,
    fetch(request, env, ctx) {
      const dispatcher = /* @__PURE__ */ __name(function(type, init) {
        if (type === "scheduled" && worker2.scheduled !== void 0) {
          const controller = new __Facade_ScheduledController__(
            Date.now(),
            init.cron ?? "",
            () => {
            }
          );
          return worker2.scheduled(controller, env, ctx);
        }
      }, "dispatcher");
      return __facade_invoke__(request, env, ctx, dispatcher, fetchDispatcher);
    }
  };
}
__name(wrapExportedHandler, "wrapExportedHandler");
function wrapWorkerEntrypoint(klass) {
  if (__INTERNAL_WRANGLER_MIDDLEWARE__ === void 0 || __INTERNAL_WRANGLER_MIDDLEWARE__.length === 0) {
    return klass;
  }
  for (const middleware of __INTERNAL_WRANGLER_MIDDLEWARE__) {
    __facade_register__(middleware);
  }
  return class extends klass {
    #fetchDispatcher = /* @__PURE__ */ __name((request, env, ctx) => {
      this.env = env;
      this.ctx = ctx;
      if (super.fetch === void 0) {
        throw new Error("Entrypoint class does not define a fetch() function.");
      }
      return super.fetch(request);
    }, "#fetchDispatcher");
    #dispatcher = /* @__PURE__ */ __name((type, init) => {
      if (type === "scheduled" && super.scheduled !== void 0) {
        const controller = new __Facade_ScheduledController__(
          Date.now(),
          init.cron ?? "",
          () => {
          }
        );
        return super.scheduled(controller);
      }
    }, "#dispatcher");
    fetch(request) {
      return __facade_invoke__(
        request,
        this.env,
        this.ctx,
        this.#dispatcher,
        this.#fetchDispatcher
      );
    }
  };
}
__name(wrapWorkerEntrypoint, "wrapWorkerEntrypoint");
var WRAPPED_ENTRY;
if (typeof middleware_insertion_facade_default === "object") {
  WRAPPED_ENTRY = wrapExportedHandler(middleware_insertion_facade_default);
} else if (typeof middleware_insertion_facade_default === "function") {
  WRAPPED_ENTRY = wrapWorkerEntrypoint(middleware_insertion_facade_default);
}
var middleware_loader_entry_default = WRAPPED_ENTRY;
export {
  __INTERNAL_WRANGLER_MIDDLEWARE__,
  middleware_loader_entry_default as default
};
//# sourceMappingURL=worker.js.map
