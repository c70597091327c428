import { formatRecordedRequest, parseRecordedRequest } from "@countersign/server/recording";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

describe("a recording", () => {
  it("gives back any bytes, url and headers", () => {
    const text = fc.string({ unit: "grapheme" });
    fc.assert(
      fc.property(
        fc.uint8Array(),
        text,
        fc.dictionary(text, text, { noNullPrototype: true }),
        (body, url, headers) => {
          const line = formatRecordedRequest({ at: "now", url, headers, body });
          expect(line.indexOf("\n")).toBe(line.length - 1);
          const parsed = parseRecordedRequest(line, 1);
          expect({ ...parsed, body: [...parsed.body] }).toEqual({ at: "now", url, headers, body: [...body] });
        },
      ),
    );
  });
});
