import {
  checkClock,
  checkFunction,
  checkOptionNames,
  checkPort,
  nearestName,
  systemClock,
  unknownNames,
} from "@countersign/protocol";
import { describe, expect, it } from "vitest";

const NAMES = { secret: true, endpoint: true, headers: true };

function messageOf(action: () => unknown): string {
  try {
    action();
    return "";
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return (error as TypeError).message;
  }
}

describe("checkOptionNames", () => {
  it("accepts known names, and none", () => {
    for (const options of [{ secret: "s", headers: {} }, {}]) {
      expect(messageOf(() => checkOptionNames("createSender()", options, NAMES))).toBe("");
    }
    expect(unknownNames({ secret: 1, other: 2 }, NAMES)).toEqual(["other"]);
  });

  it("says which option was meant", () => {
    const check = (options: object): string =>
      messageOf(() =>
        checkOptionNames("createSender()", options, NAMES, { sharedSecret: "it is called secret here" }),
      );
    expect(check({ secrt: "s" })).toBe('createSender(): unknown option "secrt"; did you mean "secret"?');
    expect(check({ sharedSecret: "s" })).toBe(
      'createSender(): unknown option "sharedSecret": it is called secret here.',
    );
    expect(check({ colour: "red" })).toBe(
      'createSender(): unknown option "colour". Known: secret, endpoint, headers.',
    );
  });

  it("takes no name from a prototype for a known one", () => {
    for (const name of ["constructor", "toString", "__proto__"]) {
      const options: unknown = JSON.parse(`{"${name}": 1}`);
      expect(messageOf(() => checkOptionNames("f()", options, NAMES, {}))).toContain(
        `unknown option "${name}"`,
      );
    }
  });

  it.each([undefined, null, "secret", 7, ["secret"]])("rejects %j as options", (options) => {
    expect(messageOf(() => checkOptionNames("f()", options, NAMES))).toContain("takes an options object");
  });

  it("shows no text that is given in place of an object or a function: it may be a secret, or a URL with a password", () => {
    const url = "postgres://app:hush@127.0.0.1/app";
    expect(messageOf(() => checkOptionNames("f()", url, NAMES))).toMatch(/, not a string\.$/);
    expect(messageOf(() => checkPort("f({ pool })", url, ["query"]))).toMatch(/: got a string\.$/);
    expect(messageOf(() => checkFunction("f({ secret })", url))).toMatch(/, not a string\.$/);
  });

  it("costs nothing for a name of a million letters, and quotes its start only", () => {
    const message = messageOf(() => checkOptionNames("f()", { ["x".repeat(1_000_000)]: 1 }, NAMES));
    expect(message.length).toBeLessThan(200);
  });

  it("finds no near name where too many letters differ", () => {
    expect(nearestName("edpoint", ["endpoint", "secret"])).toBe("endpoint");
    expect(nearestName("zzz", ["endpoint", "secret"])).toBeUndefined();
  });
});

describe("checkPort", () => {
  it("accepts objects and functions that have the methods", () => {
    const check = (): void => {
      checkPort(
        "f({ port })",
        Object.assign(() => {}, { send: () => {} }),
        ["send"],
      );
      checkClock("f({ clock })", systemClock());
    };
    expect(check).not.toThrow();
  });

  it("names the first method that is missing", () => {
    expect(messageOf(() => checkClock("f({ clock })", { now: () => 0 }))).toBe(
      "f({ clock }) must be an object with now(), schedule(), hold(): schedule() is missing.",
    );
  });

  it.each([null, undefined, 7, "clock"])("says what it got: %j", (value) => {
    expect(messageOf(() => checkPort("f({ clock })", value, ["now"]))).toMatch(/with now\(\): got /);
  });

  it("checks a function if there is one", () => {
    checkFunction("f({ ids })", undefined);
    checkFunction("f({ ids })", () => "");
    expect(messageOf(() => checkFunction("f({ ids })", "id"))).toBe(
      "f({ ids }) must be a function, not a string.",
    );
  });
});
