import { codeOf, messageOf } from "@countersign/protocol";
import { StoreError, type StoreErrorCode } from "@countersign/sender/store";
import {
  IDLE_IN_TRANSACTION,
  IDLE_SESSION,
  isCutOff,
  isUnknown,
  LOCKED,
  NONE_LEFT,
  NoAnswerError,
  NotInTimeError,
  NotReachedError,
  sqlStateOf,
  TRANSACTION_TIMEOUT,
} from "./postgres-error.ts";

/** What a code of PostgreSQL means here. */
interface Known {
  readonly code: StoreErrorCode;
  readonly text: string;
  /** It may pass by itself: opening tries again. */
  readonly passes: boolean;
}

const FULL: Known = {
  code: "ERR_STORE_FULL",
  text: "The disk of the database is full. Make room; pending deliveries continue by themselves.",
  passes: true,
};
const READ_ONLY: Known = {
  code: "ERR_STORE_READ_ONLY",
  text: "The database is read-only, as a standby is after a failover, or since default_transaction_read_only was turned on. Connect to the primary: check the URL, or the name that it resolves to.",
  passes: true,
};
const BUSY: Known = {
  code: "ERR_STORE_FAILED",
  text: "The database has no connections left. Each process needs seven: raise max_connections, or run fewer processes.",
  passes: true,
};
const STARTING: Known = {
  code: "ERR_STORE_FAILED",
  text: "The database is starting or shutting down.",
  passes: true,
};
const CANCELLED: Known = {
  code: "ERR_STORE_FAILED",
  text: "The database cancelled the command: somebody asked for that, or it took longer than statement_timeout or transaction_timeout.",
  passes: true,
};
const idled = (setting: string): Known => ({
  code: "ERR_STORE_FAILED",
  text: `The database ended a connection that was idle for longer than ${setting}, and nothing was stored. Repeat it. If it fails again, the setting is too low for the store: raise it for the user, the database or the server, or in the options of the URL.`,
  passes: true,
});
const REFUSED: Known = {
  code: "ERR_STORE_OPEN",
  text: "The database refused the user or the password. Check the URL.",
  passes: false,
};

/** What the codes of PostgreSQL mean here (its manual, appendix A). */
const KNOWN: Readonly<Record<string, Known>> = {
  "53100": FULL,
  "25006": READ_ONLY,
  [NONE_LEFT]: BUSY,
  "57P03": STARTING,
  "57014": CANCELLED,
  [TRANSACTION_TIMEOUT]: CANCELLED,
  [IDLE_IN_TRANSACTION]: idled("idle_in_transaction_session_timeout"),
  [IDLE_SESSION]: idled("idle_session_timeout"),
  [LOCKED]: {
    code: "ERR_STORE_FAILED",
    text: "A table of the store is locked for longer than lock_timeout, as by a backup, VACUUM FULL or ALTER TABLE.",
    passes: true,
  },
  "53200": {
    code: "ERR_STORE_FAILED",
    text: "The database has no memory left, perhaps for locks: a search locks 14 tables and indexes for each day that is kept. Raise max_locks_per_transaction.",
    passes: true,
  },
  "28P01": REFUSED,
  "28000": REFUSED,
  "3D000": {
    code: "ERR_STORE_OPEN",
    text: "The database of this name does not exist. Create it, or name another one.",
    passes: false,
  },
  "42501": {
    code: "ERR_STORE_READ_ONLY",
    text: "The user of the database lacks a privilege. It needs CREATE on the database, or CREATE and USAGE on the schema if that exists, and has to own the tables.",
    passes: false,
  },
  "42P01": {
    code: "ERR_STORE_FAILED",
    text: "A table of the store is missing. Was the schema dropped? Restart the process to create it.",
    passes: false,
  },
};

/** What the server refuses a connection for, by the words that follow the code of a wrong user. Those of other languages are not known. */
const REFUSALS: readonly (readonly [pattern: RegExp, text: string])[] = [
  [
    /pg_hba\.conf.*no encryption/,
    "The database takes no connection from this machine without TLS, or none at all. Add sslmode=verify-full to the URL, or an entry to pg_hba.conf of the database.",
  ],
  [
    /pg_hba\.conf/,
    "The database takes no connection of this user to this database from this machine. Check the URL, or add an entry to pg_hba.conf of the database.",
  ],
  [
    /client certificate/,
    "The database asks for a certificate of its client. Add sslcert=FILE and sslkey=FILE to the URL.",
  ],
];

/** What keeps the driver from a connection for as long as the URL is as it is, by its message and code, and what to do. */
const LASTING: readonly (readonly [pattern: RegExp, text: string])[] = [
  [/password must be a/, "The database asks for a password, and the URL has none."],
  [
    /Unrecognized algorithm name/,
    "The database asks for the password hashed with MD5, which this machine does not have in FIPS mode. Set password_encryption of the database to scram-sha-256, and then the password of the user again.",
  ],
  [
    /does not support SSL/,
    "The database does not offer TLS, and the URL asks for it. Leave out sslmode and ssl, or write sslmode=disable.",
  ],
  [
    /\bERR_TLS_CERT_ALTNAME_INVALID$/,
    "The certificate of the database is for another host. In the URL, write the host name that the certificate has, or have the database use one with this name.",
  ],
  [
    /\bCERT_HAS_EXPIRED$/,
    "The certificate of the database, or of its authority, has expired. Renew it, and check the clock of this machine.",
  ],
  [
    /\bCERT_NOT_YET_VALID$/,
    "The certificate of the database, or of its authority, is not valid yet. Check the clock of this machine, and the certificate.",
  ],
  [
    /\b(?:ERR_TLS_\w+|CERT_\w+|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_\w+)$/,
    "The certificate of the database is not trusted. Add sslrootcert=FILE to the URL, with the certificate of its authority; if it is there, the file has another one.",
  ],
];

function knownOf(state: string, message: string): Known | undefined {
  const known = KNOWN[state];
  const refusal = known === REFUSED ? REFUSALS.find(([pattern]) => pattern.test(message)) : undefined;
  return refusal === undefined ? known : { ...REFUSED, text: refusal[1] };
}

/** Whether it may pass by itself. */
export function mayPass(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== undefined) return KNOWN[state]?.passes === true || isCutOff(state) || state.startsWith("53");
  if (error instanceof NotReachedError) return adviceOn(error) === undefined;
  return error instanceof NoAnswerError;
}

/** What to do about a connection that cannot be made, if trying again changes nothing. */
function adviceOn({ message, cause }: NotReachedError): string | undefined {
  return LASTING.find(([pattern]) => pattern.test(`${message} ${codeOf(cause) ?? ""}`.trimEnd()))?.[1];
}

/** A delivery has no body: somebody has removed it. The text is the same for all, so that it is not told for each. */
export function bodylessError(): StoreError {
  return new StoreError(
    "ERR_STORE_FAILED",
    "The body of a delivery is not in the database any more, so it cannot be sent: somebody dropped or truncated the table message, or a day of it.",
  );
}

/**
 * {@link storeErrorOf} of what stores nothing of a caller's, or what the store tries again by itself: what became of it is not in
 * question.
 */
export function failureOf(error: unknown): StoreError {
  if (!isUnknown(error)) return storeErrorOf(error);
  const what =
    sqlStateOf(error) === undefined ? "did not answer" : "ended the connection before it had answered";
  return new StoreError("ERR_STORE_FAILED", `The database ${what}: ${messageOf(error)}.`, error);
}

/** What is read. Only what a filter means can be less. */
export type ReadPart = "filtered" | "whole" | "settings";

const ASK_AGAIN = "Ask again.";
const SETTINGS_ADVICE =
  "Check the database and the network to it. A process that runs reads its settings again by itself; start one again that was starting.";
/** What to do where a read got no answer in time, and where its connection ended. */
const READ_ADVICE: Readonly<Record<ReadPart, { readonly late: string; readonly ended: string }>> = {
  filtered: { late: "Ask for less, such as a shorter time, or ask again.", ended: ASK_AGAIN },
  whole: { late: ASK_AGAIN, ended: ASK_AGAIN },
  settings: { late: SETTINGS_ADVICE, ended: SETTINGS_ADVICE },
};

/** Throws an error of what only reads: nothing was to be stored, so what became of it is not in question. */
export function throwOfRead(error: unknown, part: ReadPart): never {
  if (!isUnknown(error)) throw error;
  const { late, ended } = READ_ADVICE[part];
  const { code, message } = failureOf(error);
  throw new StoreError(code, `${message} ${error instanceof NoAnswerError ? late : ended}`, error);
}

/** Any error as a StoreError that says what to do. The URL contains a password, so it is never in it. */
export function storeErrorOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (isUnknown(error)) {
    return new StoreError(
      "ERR_STORE_UNKNOWN",
      "The connection to the database broke before it answered, so whether this was stored is not known. Repeat it: the same ids are stored once.",
      error,
    );
  }
  const message = messageOf(error);
  const known = knownOf(sqlStateOf(error) ?? "", message);
  if (known !== undefined) return new StoreError(known.code, `${known.text} (${message})`, error);
  if (error instanceof NotInTimeError) return new StoreError("ERR_STORE_FAILED", message, error);
  if (error instanceof NotReachedError) {
    const advice = adviceOn(error);
    if (advice !== undefined) return new StoreError("ERR_STORE_OPEN", `${advice} (${message})`, error);
    return new StoreError("ERR_STORE_FAILED", `The database cannot be reached: ${message}.`, error);
  }
  return new StoreError("ERR_STORE_FAILED", `The database failed: ${message}.`, error);
}
