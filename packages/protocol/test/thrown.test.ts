import {
  codeOf,
  connectionMessageOf,
  errorOf,
  fileMessageOf,
  isError,
  limitStacks,
} from "@countersign/protocol";
import { runInNewContext } from "node:vm";
import { describe, expect, it, onTestFinished } from "vitest";

/** As Node 24 and later say it of a certificate that no authority vouches for. */
const SELF_SIGNED = Object.assign(
  new Error(
    "self-signed certificate; if the root CA is installed locally, try running Node.js with --use-system-ca",
  ),
  { code: "DEPTH_ZERO_SELF_SIGNED_CERT" },
);

/** As OpenSSL says that a port speaks plain HTTP. */
const WRONG_VERSION = Object.assign(
  new Error(
    "80AC43F9B37F0000:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:ssl3_record.c:350:\n",
  ),
  { code: "ERR_SSL_WRONG_VERSION_NUMBER", reason: "wrong version number" },
);

it.each([
  ["Unknown system error -122: Unknown system error -122, write", "EDQUOT: disk quota exceeded, write"],
  ["Unknown system error -69: Unknown system error -69, open '/x'", "EDQUOT: disk quota exceeded, open '/x'"],
  ["ENOSPC: no space left on device, write", "ENOSPC: no space left on device, write"],
  [
    "Unknown system error -41: Unknown system error -41, read",
    "Unknown system error -41: Unknown system error -41, read",
  ],
])("a quota that is used up has a name, like a full disk: %s", (said, text) => {
  expect(fileMessageOf(new Error(said))).toBe(text);
});

describe("connectionMessageOf", () => {
  it("leaves out how Node is to be run: whoever runs a command or an app passes an option of it", () => {
    expect(connectionMessageOf(SELF_SIGNED)).toBe("self-signed certificate");
  });

  it("has the reason of a line of OpenSSL's error queue", () => {
    expect(connectionMessageOf(WRONG_VERSION)).toBe("the TLS handshake failed: wrong version number");
  });

  it("has what was said of each address, once, where none of several was reached", () => {
    const errors = ["connect ECONNREFUSED ::1:80", "connect ECONNREFUSED 127.0.0.1:80", "again", "again"];
    const whole = new AggregateError(errors.map((message) => new Error(message)));
    expect(connectionMessageOf(whole)).toBe(
      "connect ECONNREFUSED ::1:80; connect ECONNREFUSED 127.0.0.1:80; again",
    );
    expect(connectionMessageOf(new AggregateError([], "none"))).toBe("none");
  });

  it.each([
    ["self-signed certificate", new Error("self-signed certificate")],
    ["no route; no address", new Error("no route; no address")],
    ["ECONNREFUSED", Object.assign(new Error(""), { code: "ECONNREFUSED" })],
    ["elsewhere", runInNewContext('new Error("elsewhere")')],
    ["text", "text"],
    ["undefined", undefined],
  ])("is otherwise what was thrown says: %s", (message, thrown: unknown) => {
    expect(connectionMessageOf(thrown)).toBe(message);
  });
});

it("an error of another realm is one, and keeps its code; an answer with a message is none", () => {
  const foreign: unknown = runInNewContext('Object.assign(new Error("no"), { code: "ENOENT" })');
  expect([isError(foreign), codeOf(foreign), errorOf(foreign)]).toEqual([true, "ENOENT", foreign]);
  expect(isError({ message: "no" })).toBe(false);
});

it("makes errors without stacks, and with them again, and throws nothing where Error is frozen", () => {
  const calls = limitStacks(0);
  const without = new Error("quick");
  limitStacks(calls);
  expect(without.stack).toBe("Error: quick");
  expect(new Error("usual").stack).toContain("thrown.test");
  const limit = Object.getOwnPropertyDescriptor(Error, "stackTraceLimit");
  onTestFinished(() => void Object.defineProperty(Error, "stackTraceLimit", limit ?? {}));
  Object.defineProperty(Error, "stackTraceLimit", { ...limit, writable: false });
  expect(() => limitStacks(0)).not.toThrow();
});
