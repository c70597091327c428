import {
  aliasIdentity,
  assertNever,
  isAlias,
  isDelete,
  isGroup,
  isIdentify,
  isPage,
  isScreen,
  isTrack,
  valueAt,
  type AliasMessage,
  type Context,
} from "@countersign/core";
import { sampleMessages } from "@countersign/core/testing";
import { describe, expect, it } from "vitest";

const guards = {
  page: isPage,
  screen: isScreen,
  identify: isIdentify,
  track: isTrack,
  alias: isAlias,
  group: isGroup,
  delete: isDelete,
};

describe("the guards", () => {
  it.each(Object.entries(guards))("one for %s, true of it and of no other", (type, guard) => {
    const accepted = Object.values(sampleMessages).filter((message) => guard(message));
    expect(accepted.map((message) => message.type)).toEqual([type]);
    expect(guard({ type: "purchase" })).toBe(false);
  });
});

describe("aliasIdentity", () => {
  const expected = { previousId: "before", userId: "after" };
  const spellings: [name: string, fields: Omit<AliasMessage, "type">][] = [
    ["the spec's sample", { "Previous ID": "before", "User ID": "after" }],
    ["camel case", { previousId: "before", userId: "after" }],
    ["one of each", { "Previous ID": "before", userId: "after" }],
    [
      "the sample's spelling with the other one null",
      { "Previous ID": "before", previousId: null, "User ID": "after", userId: null },
    ],
    [
      "camel case with the other spelling empty",
      { "Previous ID": "", previousId: "before", "User ID": "", userId: "after" },
    ],
    [
      "both, of which the sample's counts",
      { "Previous ID": "before", previousId: "x", "User ID": "after", userId: "y" },
    ],
  ];

  it.each(spellings)("reads %s", (_case, fields) => {
    expect(aliasIdentity({ type: "alias", ...fields })).toEqual(expected);
  });
});

describe("assertNever", () => {
  it("names the type that no case handles", () => {
    const message = { type: "purchase" } as never;
    expect(() => assertNever(message)).toThrow(TypeError);
    expect(() => assertNever(message)).toThrow('No case handles messages of type "purchase".');
  });
});

describe("valueAt", () => {
  const context = JSON.parse('{"device":{"model":"Pixel 9","tags":["a"]},"__proto__":{"x":1}}') as Context;

  it("gives what is at a path, whatever kinds the path passes", () => {
    expect(valueAt(context, "device", "model")).toBe("Pixel 9");
    expect(valueAt(context, "device")).toEqual({ model: "Pixel 9", tags: ["a"] });
    expect(valueAt(context, "__proto__", "x")).toBe(1);
    for (const path of [
      ["os", "name"],
      ["device", "model", "length"],
      ["device", "tags", "0"],
      ["toString"],
    ]) {
      expect(valueAt(context, ...path)).toBeUndefined();
    }
    expect(valueAt(null, "device")).toBeUndefined();
    expect(valueAt(undefined, "device", "model")).toBeUndefined();
  });
});
