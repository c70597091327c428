import type { CodePages } from "./code-page.ts";
import { ts } from "./example.ts";

/** `reason` of an outcome of the client: why a call was rejected or dropped. */
export const CLIENT_CODES: CodePages = {
  "bad-request": {
    cause: "The service answered 400 for this message alone. The others of its batch were sent without it.",
    fix: "The outcome's `detail` has the answer. Correct the call.",
    ...ts(
      "new Analytics(writeKey, { onReject: ({ json, outcome }) => console.warn(outcome.detail, json) });",
    ),
  },
  "too-large": {
    cause: "The service answered 413 for this message alone.",
    fix: "Send less in the call.",
    ...ts(
      'analytics.track({ userId: "u1", event: "Opened", properties: { documentId: "d1" } }); // not the document',
    ),
  },
  unauthorized: {
    cause: "The service answered 401 or 403: the write key is wrong.",
    fix: "Correct the write key.",
    ...ts('const { WRITE_KEY = "" } = process.env;\nconst analytics = new Analytics(WRITE_KEY);'),
  },
  redirected: {
    cause: "The endpoint answered with a redirect, which is not followed: it would turn the POST into a GET.",
    fix: "Use the address that it redirects to as the endpoint.",
    ...ts('new Analytics(writeKey, { endpoint: "https://events.example.com" });'),
  },
  refused: {
    cause: "The service answered with another 4xx, or with a success whose body says that it failed.",
    fix: "The outcome's `statusCode` and `detail` say which. Correct the endpoint or the call.",
    ...ts(
      "new Analytics(writeKey, { onReject: ({ outcome }) => console.warn(outcome.statusCode, outcome.detail) });",
    ),
  },
  "queue-full": {
    cause:
      "The queue was full, so `whenFull` dropped this message: calls are recorded faster than the service accepts them.",
    fix: "Raise the limits of the queue, or wait for space.",
    ...ts('new Analytics(writeKey, { whenFull: "wait" });\nawait analytics.track(call).accepted;'),
  },
  "retries-exhausted": {
    cause: "Every attempt failed until `retry.giveUpAfter` was over.",
    fix: "Check the endpoint and the network. Raise `giveUpAfter` for longer outages.",
    ...ts("new Analytics(writeKey, { retry: { giveUpAfter: 4 * 3_600_000 } });"),
  },
  deadline: {
    cause: "The deadline of close(), or of the flush at exit, came before the message was sent.",
    fix: "Give close() more time, or raise `exitTimeout` if the process ends without close().",
    ...ts(
      "const analytics = new Analytics(writeKey, { exitTimeout: 30_000 });\nawait analytics.close(30_000); // milliseconds",
    ),
  },
  exit: {
    cause:
      "The process ended at once, by process.exit(), an uncaught exception or a second signal, before the message was sent. Or an exit handler made the call.",
    fix: "Wait for close() before process.exit(). Write what is dropped to a file, synchronously: countersign import sends it later.",
    ...ts(
      'import { appendFileSync } from "node:fs";\n\nconst analytics = new Analytics(writeKey, {\n  onDrop: ({ json }) => appendFileSync("lost.jsonl", `${json}\\n`),\n});\nanalytics.track(call);\nawait analytics.close();\nprocess.exit();',
    ),
  },
  closed: {
    cause: "The call was made after close().",
    fix: "Close the client after the last call.",
    ...ts("analytics.track(call);\nawait analytics.close();"),
  },
  disabled: {
    cause: "The client was created with `disable: true`.",
    fix: "Nothing, if it is a test. Otherwise remove the option.",
    ...ts("new Analytics(writeKey);"),
  },
  "before-send": {
    cause: "`beforeSend` returned null for this message.",
    fix: "Nothing, if this is intended.",
    ...ts("new Analytics(writeKey, { beforeSend: (message) => message });"),
  },
  "internal-error": {
    cause: "A part that was passed to the client failed: clock, ids, random or beforeSend.",
    fix: "The outcome's `detail` names it. Correct it.",
    ...ts("new Analytics(writeKey, { onDrop: ({ outcome }) => console.warn(outcome.detail) });"),
  },
};
