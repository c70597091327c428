import { SKIP_FIXES } from "@countersign/server/explain";
import type { CodePages } from "./code-page.ts";
import { sh, ts } from "./example.ts";

/** `code` of a `CallError`: why the sender or the client does not accept a call. */
export const CALL_CODES: CodePages = {
  ERR_FIELD_MISSING: {
    cause: "A required field of the call is absent, null or empty.",
    fix: "The error's `field` names it. Pass it.",
    ...ts('sender.track({ userId: "u1", event: "Order Completed" });'),
  },
  ERR_FIELD_INVALID: {
    cause: "A field of the call has the wrong type, or the call is not an object.",
    fix: "The error's `field` names it. Correct its value.",
    ...ts('sender.track({ userId: String(user.id), event: "Order Completed" });'),
  },
  ERR_FIELD_UNKNOWN: {
    cause: "The call has a field that its type does not have, often a misspelt one. Its data would be lost.",
    fix: "Correct the name. Data about the event goes into `properties`, data about the user into `traits`.",
    ...ts('sender.track({ userId: "u1", event: "Order Completed", properties: { total: 41.5 } });'),
  },
  ERR_NOT_SERIALIZABLE: {
    cause:
      "A value cannot be written as JSON: a BigInt, a circular reference, or more than 500 levels of nesting.",
    fix: "Write the value as a string or a number before you pass it.",
    ...ts('sender.track({ userId: "u1", event: "Opened", properties: { id: String(9007199254740993n) } });'),
  },
  ERR_CALL_TOO_LARGE: {
    cause: "The call has more than 32 KiB of JSON.",
    fix: "Send less: an id in place of a document.",
    ...ts(
      'sender.track({ userId: "u1", event: "Opened", properties: { documentId: "d1" } }); // not the document',
    ),
  },
  ERR_NAME_TAKEN: {
    cause:
      "Another audience or computed trait has the same name in snake_case, and receivers could not tell them apart.",
    fix: "Choose another name.",
    ...ts(
      'await sender.syncAudience("Big Spender", ["u1"]); // its field is big_spender\nawait sender.syncAudience("Big Spender EU", ["u2"]); // big_spender_eu',
    ),
  },
  ERR_UNKNOWN_SOURCE: {
    cause: "No source has this name or write key, or there are several sources and the call names none.",
    fix: "Name the source.",
    ...ts('sender.track({ userId: "u1", event: "Opened" }, { source: "shop" });'),
  },
};

/** `code` of the errors that a sender and its parts throw. */
export const SENDER_CODES: CodePages = {
  ERR_SETTINGS: {
    cause: "The settings of the sender are not valid. The error's `issues` name each place.",
    fix: "Correct each place that the message names.",
    ...ts(
      "await sender.update(settings).catch((error) => {\n  for (const { where, problem } of error.issues) console.error(where, problem);\n});",
    ),
  },
  ERR_SETTINGS_CHANGED: {
    cause:
      "Another process that shares the store has replaced the settings since this one read them. Nothing was changed.",
    fix: "Apply your change to `sender.settings`, which are the newest now, and update again.",
    ...ts("await sender.update({ ...sender.settings, sources });"),
  },
  ERR_SENDER_CLOSED: {
    cause: "The sender was closed before it accepted the call, or while you waited for the delivery.",
    fix: "Close the sender after the last call. Deliveries on disk are sent after the next start.",
    ...ts("await receipt.settled();\nawait sender.close();"),
  },
  ERR_CLOSE_LATE: {
    cause:
      "The transport or the store did not close by the deadline, as the store does not while its database does not answer.",
    fix: "Give a longer deadline. What was accepted is kept in a store on disk or in PostgreSQL, and delivered after the next start.",
    ...ts('await sender.close({ deadline: "30s" });'),
  },
  ERR_CLOSE_FAILED: {
    cause: "The transport or the store threw something that is no error when it was closed.",
    fix: "Look at `cause` of the error, and throw an `Error` in `close()` of the transport or the store.",
    ...ts("await sender.close().catch(({ part, cause }) => console.error(part, cause));"),
  },
};

/** `code` of the error of a failed `expect()` of a test sender. */
export const EXPECTATION_CODES: CodePages = {
  ERR_EXPECTATION: {
    cause:
      "A delivery did not reach the state that the test expects. The message lists what happened instead.",
    fix: "Read the message. With a virtual clock, advance it before you expect a later state.",
    ...ts('await clock.advance("4h");\nawait sender.expect(receipt).delivered();'),
  },
};

/** `code` of a `StoreError`: why a store fails. */
export const STORE_CODES: CodePages = {
  ERR_STORE_OPEN: {
    cause:
      "The file of the store cannot be opened or created, or was removed while it was open, or libsql, the database of a store without PostgreSQL, cannot be loaded. With PostgreSQL: the URL has a wrong user, password or database, or asks for a connection that the server does not offer.",
    fix: "Check that the folder exists and that this user may write there. Put a file that was removed or moved back, or start again with a new one. If libsql cannot be loaded, install the packages on the machine that runs them, without --omit=optional; on Windows, also the Microsoft Visual C++ Redistributable (x64). Where libsql has no build for the platform, use PostgreSQL: serve --store, or postgresStore(). With PostgreSQL, correct the URL as the message says.",
    ...sh("ls -ld .countersign"),
  },
  ERR_STORE_LOCKED: {
    cause:
      "Another sender has the store open: in another process, such as another worker of a cluster, or in this one, where a development server has evaluated a module again. Two senders on one file would send everything twice.",
    fix: "Stop the other process, or use another file or data directory. Several processes can share a store in PostgreSQL. Where a module is evaluated again, keep the sender on `globalThis`, as the README of @countersign/sender shows.",
    ...sh("countersign serve --to http://localhost:3000/webhooks --data .countersign-2 --port 4011"),
  },
  ERR_STORE_READ_ONLY: {
    cause:
      "The file, its lock beside it, or its folder cannot be written to. With PostgreSQL: the database is a standby, `default_transaction_read_only` is on, or its user may not create tables. The message says which.",
    fix: "Check the owner and the permissions of each, and whether the disk is mounted read-only. With PostgreSQL, connect to the primary, turn `default_transaction_read_only` off, or give the user the privilege CREATE.",
    ...sh("touch .countersign/test && rm .countersign/test"),
  },
  ERR_STORE_FULL: {
    cause: "The disk is full, or pending deliveries take four fifths of `maxBytes`.",
    fix: "Make room, or raise the limit. Pending deliveries continue by themselves, and make room when they end.",
    ...sh("countersign serve --to http://localhost:3000/webhooks --data .countersign --max-bytes 20GB"),
  },
  ERR_STORE_CORRUPT: {
    cause: "The file is damaged, or is not a database. A disk that fails to read it looks the same.",
    fix: "Start the process again. If it says so again, move the file away, together with the files `-wal` and `-shm` beside it: SQLite would write a log that is left behind into the file that takes its place. Then restore a backup, or start with a new one.",
    ...sh("mkdir damaged && mv .countersign/deliveries.db* damaged/"),
  },
  ERR_STORE_FOREIGN: {
    cause: "The file is a database of another program.",
    fix: "Use another path.",
    ...ts('createSender({ url, store: sqliteStore({ path: "deliveries.db" }) });'),
  },
  ERR_STORE_NEWER: {
    cause: "A newer version of the package wrote the store.",
    fix: "Update the package that opens it: `countersign` for the command, else `@countersign/sender`, and `@countersign/postgres` with PostgreSQL.",
    ...sh("npm install @countersign/sender@latest"),
  },
  ERR_STORE_FAILED: {
    cause:
      "The store failed for another reason, such as a broken disk, a quota, a file system without locks or shared memory, or a database that cannot be reached or has no connections left. The error's `cause` says more.",
    fix: "Read the message and the cause. A file continues by itself once its disk can be written again; after the disk was mounted anew, start the process again.",
    ...ts(
      "const sender = await createSender({ url, store }).catch((error) => {\n  console.error(error.message, error.cause);\n  throw error;\n});",
    ),
  },
  ERR_STORE_CLOSED: {
    cause: "The store was used before it was opened, or after it was closed.",
    fix: "Give the store to one sender, which opens and closes it.",
    ...ts("const sender = await createSender({ url, store });"),
  },
  ERR_STORE_UNKNOWN: {
    cause:
      "The connection to the store broke while it stored a call, or the disk of its file could not be synced. It is not known whether the call is stored.",
    fix: "If the message names a disk, check it. Accept the same calls again with `accept()`, with their keys and `uniqueFor`: what was stored is left out. A call without a key may be delivered twice. With the same `messageId`, receivers recognise the repeat.",
    ...ts('await sender.accept(calls, { uniqueFor: "24h" }); // each call has its key'),
  },
  ERR_STORE_CHANGED: {
    cause:
      "Another process synced the same audience or computed trait at the same time, or the connection broke while a sync was stored.",
    fix: "Sync again: only what differs from what is stored is sent.",
    ...ts('await sender.syncAudience("Big Spender", ["u1"]);'),
  },
};

/** `code` of a `ServerError`: why the server cannot start. */
export const SERVER_CODES: CodePages = {
  ERR_PORT_TAKEN: {
    cause: "Another process listens on the port.",
    fix: "Stop that process, or choose another port.",
    ...sh("countersign serve --to http://localhost:3000/webhooks --port 4011"),
  },
  ERR_LISTEN: {
    cause:
      "The server cannot listen on the address: this machine does not have it, or the port needs more rights.",
    fix: "Choose another address, and a port from 1024 on.",
    ...sh("countersign serve --to http://localhost:3000/webhooks --host 127.0.0.1 --port 4010"),
  },
  ERR_DATA_UNREADABLE: {
    cause: "The data directory cannot be created or read, or one of its files has unexpected content.",
    fix: "Check its permissions, move away the file that the message names, or use another directory.",
    ...sh("countersign serve --to http://localhost:3000/webhooks --data .countersign-2"),
  },
  ERR_DATA_VERSION: {
    cause: "A newer version of the server wrote the data directory.",
    fix: "Update the command, or use another data directory.",
    ...sh("npm install --save-dev countersign@latest"),
  },
  ERR_RECORD_FILE: {
    cause: "The recording file cannot be written.",
    fix: "Give --record a file in a folder that this user may write to.",
    ...sh("countersign serve --to http://localhost:3000/webhooks --record traffic.jsonl"),
  },
};

/** `code` of the error of `certify()`. */
export const CERTIFY_CODES: CodePages = {
  ERR_RECEIVER_UNREACHABLE: {
    cause:
      "No connection to the receiver can be made: nothing listens at the URL, the name does not resolve, or the certificate is not trusted.",
    fix: "Start the receiver, correct the URL, or pass the authority of its certificate.",
    ...sh("countersign certify https://localhost:3000/webhooks --secret dev --ca ca.pem"),
  },
};

/** `skipped` of a receipt: why an accepted call is not forwarded. */
export const SKIP_CODES: CodePages = {
  integrations: {
    cause: "The `integrations` of the call turn off webhooks, or all destinations.",
    fix: SKIP_FIXES.integrations,
    ...ts('sender.track({ userId: "u1", event: "Opened", integrations: { All: false, Webhooks: true } });'),
  },
  blocked_event: {
    cause: "The settings of the source list the event in `blockedEvents`.",
    fix: SKIP_FIXES.blocked_event,
    ...ts('await sender.update({ sources: [{ name: "shop", blockedEvents: [], destinations }] });'),
  },
  no_destination: {
    cause: "No destination of the source is enabled.",
    fix: SKIP_FIXES.no_destination,
    ...ts(
      'const destinations = [{ endpoints: [{ url }], enabled: true }];\nawait sender.update({ sources: [{ name: "shop", destinations }] });',
    ),
  },
};

/** `outcome` of an attempt. */
export const OUTCOME_CODES: CodePages = {
  success: {
    cause: "The receiver answered 2xx: it has the message.",
    fix: "Nothing.",
    ...ts("res.sendStatus(204);"),
  },
  server_error: {
    cause: "The receiver answered 5xx, 408 or 429. The sender tries again for four hours.",
    fix: "Look into the log of the receiver.",
    ...sh("countersign explain 500"),
  },
  timeout: {
    cause: "The receiver did not answer within 5 seconds. The sender tries again for four hours.",
    fix: "Store the message, answer, and do slow work afterwards.",
    ...ts("await queue.add(req.body);\nres.sendStatus(204);"),
  },
  network: {
    cause: "No connection could be made, or it broke. The sender tries again for four hours.",
    fix: "The attempt's `code` says more.",
    ...sh("countersign explain ECONNREFUSED"),
  },
  rejected: {
    cause:
      "The receiver answered with a status that is final, such as 401 or 404, or may not be called at all.",
    fix: "The attempt's `status` or `code` says more. Correct the receiver, then resend the delivery.",
    ...sh("countersign explain 401"),
  },
  tls: {
    cause: "The certificate of the receiver is not accepted. No message was sent, and there is no retry.",
    fix: "The attempt's `code` says more. Correct the certificate, then resend the delivery.",
    ...sh("countersign explain CERT_HAS_EXPIRED"),
  },
};
