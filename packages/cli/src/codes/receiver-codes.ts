import type { CodePages } from "./code-page.ts";
import { dotenv, http, nginx, sh, ts } from "./example.ts";

/** `code` of a `WebhookError`: why a receiver rejects a request. */
export const RECEIVER_CODES: CodePages = {
  ERR_METHOD_NOT_ALLOWED: {
    cause: "The request is not a POST. It comes from a browser, a health check or a link preview.",
    fix: "Nothing, if it was one of those. Point health checks at another path.",
    ...sh(
      "curl -i http://localhost:3000/webhooks        # 405\ncurl -i http://localhost:3000/healthz         # for health checks",
    ),
  },
  ERR_MEDIA_TYPE: {
    cause:
      "The Content-Type is not application/json, or names a charset other than UTF-8. Another client posts here, or a proxy changes the header.",
    fix: "Send application/json. If the service itself gets this answer, look for a proxy that rewrites headers.",
    ...sh("countersign send track --to http://localhost:3000/webhooks --secret dev"),
  },
  ERR_CONTENT_ENCODING: {
    cause: "The body is compressed. The service does not compress, so something in between does.",
    fix: "Turn off the compression of requests in the proxy in front of the receiver.",
    ...sh("countersign send track --to http://localhost:3000/webhooks --secret dev   # past the proxy"),
  },
  ERR_BODY_TOO_LARGE: {
    cause:
      "The body is larger than `maxBodyBytes`, 1 MiB by default. The service sends at most 64 KB a message: a call of 32 KB, and the context of its batch.",
    fix: "Raise `maxBodyBytes` if your messages are larger. Otherwise another client sends them.",
    ...ts("verifyWebhook({ secret, maxBodyBytes: 4 * 1024 * 1024 });"),
  },
  ERR_BODY_FRAGMENTED: {
    cause:
      "The body arrives in many more chunks than a message needs: a proxy splits it into pieces of a few bytes, or it is an attack.",
    fix: "Have the proxy buffer request bodies.",
    ...nginx("proxy_request_buffering on;"),
  },
  ERR_BODY_ABORTED: {
    cause: "The connection closed before the body was complete. The sender or a proxy stopped waiting.",
    fix: "Nothing, if it is rare: the service sends the message again. If it is frequent, compare the time limits of the proxies.",
    ...nginx("client_body_timeout 60s;"),
  },
  ERR_BODY_ALREADY_READ: {
    cause:
      "A body parser read the request before verifyWebhook() and kept neither bytes nor text, or verifyWebhook() ran for the request before. The signature covers the bytes.",
    fix: "Mount verifyWebhook() before the body parser, and only once for a route, or let the parser keep the bytes in request.rawBody.",
    ...ts(
      'app.post("/webhooks", verifyWebhook({ secret }), handler); // first\napp.use(express.json()); // afterwards',
    ),
  },
  ERR_SIGNATURE_MISSING: {
    cause:
      "The X-Signature header is missing: the sender has no shared secret, a proxy drops the header, or the request is not from the service.",
    fix: "Set the shared secret at the sender. If it is set, let the proxy pass X-Signature.",
    ...sh("countersign serve --to http://localhost:3000/webhooks --secret dev"),
  },
  ERR_SIGNATURE_MALFORMED: {
    cause:
      "The X-Signature header is not 40 hex digits, or was sent more than once. Often it has a prefix such as sha1=, or is base64.",
    fix: "Send the HMAC-SHA1 of the body as 40 hex digits, without a prefix.",
    ...ts('import { sign } from "@countersign/core";\nrequest.headers["X-Signature"] = sign(body, secret);'),
  },
  ERR_SIGNATURE_MISMATCH: {
    cause:
      "The sender signs with another secret, the body was changed on its way, or the request is a forgery.",
    fix: "Compare the secrets, with attention to spaces and quotes around them. Then have the command compare the body.",
    ...sh('countersign verify --secret dev --signature "$X_SIGNATURE" body.json'),
  },
  ERR_INVALID_UTF8: {
    cause: "The body is not valid UTF-8. If the receiver requires a signature, it matches.",
    fix: "Correct the sender: it must encode the JSON as UTF-8 before it signs it.",
    ...ts('const body = Buffer.from(JSON.stringify(message), "utf8");'),
  },
  ERR_INVALID_JSON: {
    cause: "The body is not valid JSON. If the receiver requires a signature, it matches.",
    fix: "Correct the sender: it must send one JSON object.",
    ...ts("const body = JSON.stringify(message); // sign and send this string"),
  },
  ERR_BATCH_UNSUPPORTED: {
    cause:
      "The body is an array. Only the first element of such a batch is signed, so the rest cannot be trusted.",
    fix: "Turn batching off at the sender, so that each request has one message.",
    ...sh("countersign certify http://localhost:3000/webhooks --secret dev --only rejects-batches"),
  },
  ERR_UNKNOWN_TYPE: {
    cause: "The message is authentic, but its `type` is not one of the seven.",
    fix: "Set `allowUnknownTypes` to receive types that this version does not know.",
    ...ts("const receiver = createReceiver({ secret, allowUnknownTypes: true });"),
  },
  ERR_INVALID_MESSAGE: {
    cause:
      "The message is authentic, but a field is missing or has another type than documented. With `events`, the properties may not match their schema.",
    fix: "The error's message names the field. Correct the code that records the event, or accept it and look at webhook.issues.",
    ...ts('verifyWebhook({ secret, events, invalidEvents: "report" });'),
  },
  ERR_DUPLICATE_IN_FLIGHT: {
    cause:
      "The same message arrived again while its handler is running, or after the process that ran it died.",
    fix: "Nothing: the service sends it again later. It is then recognised as handled, or its claim has ended, after a minute, and the handler runs again. If it is frequent, answer before slow work.",
    ...ts(
      'app.post("/webhooks", verify, async (req, res) => {\n  await queue.add(req.body);\n  res.sendStatus(204);\n});',
    ),
  },
};

/** `code` of a `Diagnosis`: why a signature does not match. */
export const DIAGNOSIS_CODES: CodePages = {
  "secret-white-space": {
    cause: "The secret of one side has white space around it, often a line break at the end of a file.",
    fix: "Remove it on the side that has it.",
    ...sh("printf %s dev > secret.txt    # echo would add a line break"),
  },
  "secret-quotes": {
    cause: "Something took the quotes of an .env file as part of the secret, as docker --env-file does.",
    fix: "Write the value without quotes.",
    ...dotenv("WEBHOOK_SECRET=dev"),
  },
  "empty-secret": {
    cause: "The sender signs with an empty secret, for example because its environment variable is not set.",
    fix: "Give the sender the shared secret.",
    ...dotenv("WEBHOOK_SECRET=dev"),
  },
  "retired-secret": {
    cause: "The sender still signs with a secret that the receiver lists in `retiredSecrets`.",
    fix: "Give the sender the new secret. While you rotate, the receiver may accept both.",
    ...ts("verifyWebhook({ secret: [newSecret, oldSecret] });"),
  },
  "prefixed-signature": {
    cause: "The header has an algorithm before the digest, such as sha1=.",
    fix: "Send only the 40 hex digits.",
    ...http(
      'POST /webhooks HTTP/1.1\nContent-Type: application/json\nX-Signature: 0f216a31edce469b615d1fd5ecfd3bcf6848a4af\n\n{"version":1,"type":"track","userId":"u1","event":"Hello"}',
    ),
  },
  sha256: {
    cause: "The sender signs with HMAC-SHA256. The service signs with HMAC-SHA1.",
    fix: "Use HMAC-SHA1 in the sender.",
    ...ts('createHmac("sha1", secret).update(body).digest("hex");'),
  },
  base64: {
    cause: "The digest is in base64. The service sends hex digits.",
    fix: "Encode the digest as hex.",
    ...ts('createHmac("sha1", secret).update(body).digest("hex");'),
  },
  "re-serialized": {
    cause:
      "The signature is right for the same JSON without extra spaces: a proxy has formatted the body. Receivers accept it unless they are strict.",
    fix: "Turn that off in the proxy, or do not set `strict`.",
    ...ts("verifyWebhook({ secret }); // without strict: true"),
  },
  "pretty-printed": {
    cause:
      "The signature is right for the body indented by two spaces. The sender signs another string than it sends.",
    fix: "Serialise the message once, and sign and send that string.",
    ...ts('const body = JSON.stringify(message);\nsend(body, { "X-Signature": sign(body, secret) });'),
  },
  "trailing-newline": {
    cause: "A tool or a proxy added a line break to the end of the body, or removed one.",
    fix: "Send the bytes as they are.",
    ...sh(
      `curl --data-binary @body.json -H 'Content-Type: application/json' -H "X-Signature: $X_SIGNATURE" http://localhost:3000/webhooks   # --data removes line breaks`,
    ),
  },
  "first-of-array": {
    cause: "The signature covers only the first element of an array.",
    fix: "Turn batching off at the sender: the rest of the array is not signed.",
    ...sh("countersign certify http://localhost:3000/webhooks --secret dev --only rejects-batches"),
  },
  "serialized-bytes": {
    cause:
      'A library serialised the bytes of the body as JSON: the receiver got the list of its bytes, such as {"type":"Buffer","data":[123]}.',
    fix: "Send the body as text. The signature is over the bytes, so it stays the same.",
    ...ts(
      'const { headers, text } = signedRequest(message, secret);\nawait supertest(app).post("/webhooks").set(headers).send(text);',
    ),
  },
  "empty-body": {
    cause: "The signature is right for an empty body: the sender signs before it has written the body.",
    fix: "Sign after the body is complete.",
    ...ts("const signature = sign(body, secret); // body is complete here"),
  },
  "parsed-before": {
    cause:
      "A body parser kept only the parsed value, and writing it again gives other bytes. Or the secrets differ.",
    fix: "Compare the secrets first. If they are the same, mount verifyWebhook() before the body parser.",
    ...ts('app.post("/webhooks", express.raw({ type: "*/*" }), verifyWebhook({ secret }), handler);'),
  },
};

/** `code` of a process warning. Run with --trace-warnings to see where it comes from. */
export const WARNING_CODES: CodePages = {
  COUNTERSIGN_SECRET: {
    cause:
      "The secret of a receiver, or of what signs for it, has white space or quotes around it, which count as part of the key.",
    fix: "Remove them, unless the secret on the other side has them, too.",
    ...dotenv("WEBHOOK_SECRET=dev"),
  },
  COUNTERSIGN_SIGNATURE: {
    cause:
      "A receiver without `onRejected` rejected a request for its signature. The warning has the diagnosis. It is emitted once a minute at most.",
    fix: "Follow the diagnosis, and set `onRejected` to see every rejected request.",
    ...ts("verifyWebhook({ secret, onRejected: (error) => console.warn(error.code, error.hint) });"),
  },
  COUNTERSIGN_BODY_READ: {
    cause:
      "Something read the request before a receiver without `onRejected`, and kept nothing that can be verified.",
    fix: "Mount verifyWebhook() before the body parser, or let the parser keep the bytes in request.rawBody.",
    ...ts('app.post("/webhooks", verifyWebhook({ secret }), handler);\napp.use(express.json());'),
  },
  COUNTERSIGN_DEDUPE: {
    cause: "The dedupe store failed after a message was handled. The message may be handled again.",
    fix: "Check the store. Until it works, handlers must expect repeats.",
    ...sh("redis-cli ping"),
  },
  COUNTERSIGN_SETTINGS_REPLACED: {
    cause:
      "A sender that started with its own settings replaced or removed sources in the store that several processes share.",
    fix: "Start all processes with the same sources and the same retry policy. Those of the process that starts last are in force.",
    ...ts("await createSender({ sources, store: postgresStore({ url }) });"),
  },
  COUNTERSIGN_NOT_PRIVATE: {
    cause:
      "Other users of this machine can read the folder of a store, one of its files, or a recording. They contain personal data.",
    fix: "Remove their permissions. Only the owner of a file can: if it is another user, do it as that user, or make the user of the process the owner. A file system that keeps no permissions, such as FAT, must be mounted for that user alone, as with the options `uid` and `umask=077`.",
    ...sh("chmod 700 .countersign"),
  },
};
