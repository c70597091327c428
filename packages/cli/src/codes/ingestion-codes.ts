import { REJECTION_FIXES } from "@countersign/server/explain";
import type { CodePages } from "./code-page.ts";
import { html, json, sh, ts } from "./example.ts";

/** `reason` of a rejection: why the server does not forward a message. */
export const REJECTION_CODES: CodePages = {
  no_write_key: {
    cause: "The request has no write key.",
    fix: REJECTION_FIXES.no_write_key,
    ...sh('curl -u any: -d \'{"userId":"u1","event":"Hello"}\' http://127.0.0.1:4010/v1/track'),
  },
  unknown_write_key: {
    cause: "No source has this write key.",
    fix: REJECTION_FIXES.unknown_write_key,
    ...sh("countersign serve --to http://localhost:3000/webhooks"),
  },
  not_an_object: {
    cause: "The message is not a JSON object. Often it was serialised twice.",
    fix: REJECTION_FIXES.not_an_object,
    ...sh('curl -d \'{"writeKey":"any","userId":"u1","event":"Hello"}\' http://127.0.0.1:4010/v1/track'),
  },
  no_batch: {
    cause: "The body of a batch has no `batch` array.",
    fix: REJECTION_FIXES.no_batch,
    ...json('{ "writeKey": "any", "batch": [{ "type": "track", "userId": "u1", "event": "Hello" }] }'),
  },
  missing_type: {
    cause: "A message of a batch has no `type`.",
    fix: REJECTION_FIXES.missing_type,
    ...json('{ "type": "track", "userId": "u1", "event": "Hello" }'),
  },
  unknown_type: {
    cause: "The `type` of a message is not one of the six.",
    fix: REJECTION_FIXES.unknown_type,
    ...json('{ "type": "track", "userId": "u1", "event": "Hello" }'),
  },
  no_user_anon_id: {
    cause: "The message has neither a `userId` nor an `anonymousId`.",
    fix: REJECTION_FIXES.no_user_anon_id,
    ...json('{ "type": "track", "anonymousId": "a1", "event": "Hello" }'),
  },
  missing_user_id: {
    cause: "An alias call has no `userId`, which is the new identity.",
    fix: REJECTION_FIXES.missing_user_id,
    ...json('{ "type": "alias", "previousId": "a1", "userId": "u1" }'),
  },
  missing_previous_id: {
    cause: "An alias call has no `previousId`, which is the old identity.",
    fix: REJECTION_FIXES.missing_previous_id,
    ...json('{ "type": "alias", "previousId": "a1", "userId": "u1" }'),
  },
  missing_event: {
    cause: "A track call has no `event`.",
    fix: REJECTION_FIXES.missing_event,
    ...json('{ "type": "track", "userId": "u1", "event": "Hello" }'),
  },
  missing_group_id: {
    cause: "A group call has no `groupId`.",
    fix: REJECTION_FIXES.missing_group_id,
    ...json('{ "type": "group", "userId": "u1", "groupId": "g1" }'),
  },
  invalid_field: {
    cause: "A field has a value of the wrong type, such as a text where an object belongs.",
    fix: REJECTION_FIXES.invalid_field,
    ...json('{ "type": "track", "userId": "u1", "event": "Hello", "properties": { "plan": "pro" } }'),
  },
  invalid_timestamp: {
    cause:
      "The timestamp is not an ISO 8601 date-time. Using the time of arrival instead would corrupt a historical import.",
    fix: REJECTION_FIXES.invalid_timestamp,
    ...json('{ "type": "track", "userId": "u1", "event": "Hello", "timestamp": "2026-01-31T08:30:00.000Z" }'),
  },
  message_id_too_long: {
    cause: "The `messageId` has 100 characters or more.",
    fix: REJECTION_FIXES.message_id_too_long,
    ...json(
      '{ "type": "track", "userId": "u1", "event": "Hello", "messageId": "0f9b3a52-6a2e-4a9b-9d2c-5f1c7a1d2e3f" }',
    ),
  },
  message_too_large: {
    cause:
      "A message of a batch has more than 32,768 bytes of JSON, or the `context` and `integrations` of the batch have.",
    fix: REJECTION_FIXES.message_too_large,
    ...json('{ "type": "track", "userId": "u1", "event": "Hello", "properties": { "documentId": "d1" } }'),
  },
  nested_too_deeply: {
    cause: "Objects or arrays of the message are nested more than 500 deep.",
    fix: REJECTION_FIXES.nested_too_deeply,
    ...json('{ "type": "track", "userId": "u1", "event": "Hello", "properties": { "path": "a.b.c" } }'),
  },
  unsafe_integer: {
    cause: "JavaScript does not keep a number: an integer above 2^53, or one above 1.8e308.",
    fix: REJECTION_FIXES.unsafe_integer,
    ...json(
      '{ "type": "track", "userId": "u1", "event": "Hello", "properties": { "id": "9007199254740993" } }',
    ),
  },
  refused_by_sender: {
    cause: "The forwarding engine does not accept the message.",
    fix: REJECTION_FIXES.refused_by_sender,
    ...sh("curl http://127.0.0.1:4010/api/rejections"),
  },
};

/** `code` of an answer to a whole request under `/v1`. */
export const REQUEST_CODES: CodePages = {
  invalid_json: {
    cause: "The body is not JSON.",
    fix: "Send a JSON object. The Content-Type does not matter.",
    ...sh('curl -d \'{"writeKey":"any","userId":"u1","event":"Hello"}\' http://127.0.0.1:4010/v1/track'),
  },
  invalid_gzip: {
    cause: "The body is declared as gzip, but is truncated or damaged.",
    fix: "Compress the whole body, or send it without Content-Encoding.",
    ...sh(
      "gzip -c batch.json | curl --data-binary @- -H 'Content-Encoding: gzip' http://127.0.0.1:4010/v1/batch",
    ),
  },
  unsupported_encoding: {
    cause: "The body has a Content-Encoding other than gzip.",
    fix: "Send gzip, or no Content-Encoding.",
    ...sh(
      "gzip -c batch.json | curl --data-binary @- -H 'Content-Encoding: gzip' http://127.0.0.1:4010/v1/batch",
    ),
  },
  payload_too_large: {
    cause:
      "A batch has more than 512,000 bytes or 2,500 messages, its `context` and `integrations` come to more than 7,876,608 bytes in all messages, or a single call has more than 32,768 bytes.",
    fix: "Send smaller batches. Clients have an option for it.",
    ...ts('new Analytics("any", { endpoint, flushAt: 100 });'),
  },
  body_aborted: {
    cause: "The connection closed before the body was complete.",
    fix: "Send the request again. Clients do so by themselves.",
    ...sh(
      'curl --max-time 30 -d \'{"writeKey":"any","userId":"u1","event":"Hello"}\' http://127.0.0.1:4010/v1/track',
    ),
  },
  no_data: {
    cause: "The address of a pixel has no `data` with the call.",
    fix: "Pass the call, with its `writeKey`, as base64 of its JSON.",
    ...html(
      '<img\n  src="http://127.0.0.1:4010/v1/pixel/track?data=eyJ3cml0ZUtleSI6ImFueSIsInVzZXJJZCI6InUxIiwiZXZlbnQiOiJIZWxsbyJ9"\n/>',
    ),
  },
  rate_limited: {
    cause: "A rate limit was injected as a fault. The server has no rate limit of its own.",
    fix: "The client must wait for `Retry-After`. Remove the fault to end it.",
    ...sh("curl http://127.0.0.1:4010/api/faults"),
  },
  unavailable: {
    cause:
      "The store failed, so that the messages could not be stored, or it is so slow that the request waited for others for 5 seconds.",
    fix: "Send the request again: messages that are already stored are recognised by their messageId. The server's log has the error.",
    ...sh("curl http://127.0.0.1:4010/readyz"),
  },
  store_full: {
    cause:
      "Pending deliveries fill four fifths of the store, because no receiver accepts them, or its disk is full.",
    fix: "Start or correct the receiver, or raise --max-bytes: in memory to 1GB at most, with --data as far as the disk has room. Clients try again by themselves.",
    ...sh("countersign serve --to http://localhost:3000/webhooks --data .countersign --max-bytes 20GB"),
  },
  overloaded: {
    cause: "Too many request bodies arrive at once, or this one took too long.",
    fix: "Send the request again after `Retry-After`. Clients do so by themselves.",
    ...ts('new Analytics("any", { endpoint, maxInFlight: 2 });'),
  },
  not_found: {
    cause: "No route has this path.",
    fix: "Use /v1/batch, /v1/import or /v1/{identify,track,page,screen,group,alias}.",
    ...sh('curl -d \'{"writeKey":"any","userId":"u1","event":"Hello"}\' http://127.0.0.1:4010/v1/track'),
  },
  method_not_allowed: {
    cause: "The path does not accept this method.",
    fix: "Record calls with POST.",
    ...sh(
      'curl -X POST -d \'{"writeKey":"any","userId":"u1","event":"Hello"}\' http://127.0.0.1:4010/v1/track',
    ),
  },
  malformed_url: {
    cause:
      "The path has a percent sign that does not begin the code of a character in UTF-8, or a name of more than 512 characters.",
    fix: "Encode the path, and use the write key of a source in it.",
    ...ts('await fetch(`${endpoint}/v1/${encodeURIComponent(callType)}`, { method: "POST", body });'),
  },
  malformed_request: {
    cause:
      "The bytes are not an HTTP request. Often a client speaks TLS to a port that does not, or a load balancer sends the PROXY protocol.",
    fix: "Write http:// in the client, or start the server with TLS. Turn the PROXY protocol off at the load balancer.",
    ...sh("countersign serve --to http://localhost:3000/webhooks --tls-self-signed"),
  },
  headers_too_large: {
    cause: "The headers of the request have more than 16 KiB, often because of cookies.",
    fix: "Send fewer headers.",
    ...sh(
      'curl -v -d \'{"writeKey":"any","userId":"u1","event":"Hello"}\' http://127.0.0.1:4010/v1/track   # shows the headers',
    ),
  },
  request_timeout: {
    cause: "The headers of the request did not arrive within 10 seconds, or the whole request within 30.",
    fix: "Send the request again. Look for a client that stops in the middle of a body, and for a proxy that delays requests.",
    ...sh(
      'curl --max-time 30 -d \'{"writeKey":"any","userId":"u1","event":"Hello"}\' http://127.0.0.1:4010/v1/track',
    ),
  },
};
