import { describe, expect, it } from "vitest";
import { readWriteKey } from "../../src/ingest/write-key.ts";

const noKey = (): boolean => false;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("readWriteKey", () => {
  it.each([
    ["Basic with a colon", `Basic ${base64("WK123:")}`, {}, "WK123"],
    ["Basic without a colon", `Basic ${base64("WK123")}`, {}, "WK123"],
    ["Basic with a password, which means nothing", `Basic ${base64("WK123:x:y")}`, {}, "WK123"],
    ["basic in lower case", `basic ${base64("WK123:")}`, {}, "WK123"],
    ["the header over the body", `Basic ${base64("WK123:")}`, { writeKey: "other" }, "WK123"],
    ["the body alone", undefined, { writeKey: "WK123" }, "WK123"],
    ["Bearer beside the body", "Bearer token", { writeKey: "WK123" }, "WK123"],
    ["a broken header beside the body", "Basic ///!!", { writeKey: "WK123" }, "WK123"],
    ["an empty user name beside the body", `Basic ${base64(":secret")}`, { writeKey: "WK123" }, "WK123"],
  ])("reads %s", (_title, header, body, expected) => {
    expect(readWriteKey(header, body, noKey)).toBe(expected);
  });

  it.each([
    [undefined, {}],
    [undefined, { writeKey: null }],
    [undefined, { writeKey: "" }],
    [undefined, { writeKey: { toString: "x" } }],
    [undefined, null],
    [undefined, ["writeKey"]],
    ["Bearer token", {}],
    ["Basic", {}],
    ["Basic ", "text"],
  ])("finds none in %j and %j", (header, body) => {
    expect(readWriteKey(header, body, noKey)).toBeUndefined();
  });

  it.each([
    ["with a colon after it", "eu:shop:", "eu:shop"],
    ["without one", "eu:shop", "eu:shop"],
    ["with a password", "eu:shop:secret", "eu"],
  ])("takes a source's key with a colon in it for that key: %s", (_title, credentials, expected) => {
    const isKey = (text: string): boolean => text === "eu:shop";
    expect(readWriteKey(`Basic ${base64(credentials)}`, {}, isKey)).toBe(expected);
  });
});
