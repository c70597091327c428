import { CALL_FIELDS, CALL_TYPES } from "@countersign/protocol";
import { sampleCall, setField } from "countersign";
import { describe, expect, it } from "vitest";

function track(...assignments: string[]): Record<string, unknown> {
  const call = { userId: "u" };
  for (const assignment of assignments) setField("track", call, assignment);
  return call;
}

describe("setField", () => {
  it.each<[string, string[], object]>([
    ["text", ["event=Order Completed"], { event: "Order Completed" }],
    ["a number", ["properties.total=41.5"], { properties: { total: 41.5 } }],
    [
      "true, null and lists",
      ["properties.a=true", "properties.b=null", "properties.c=[1]"],
      { properties: { a: true, b: null, c: [1] } },
    ],
    ["text that looks like a number", ['properties.zip="01234"'], { properties: { zip: "01234" } }],
    ["a value with equals signs", ["properties.q=a=b=c"], { properties: { q: "a=b=c" } }],
    ["nothing", ["event="], { event: "" }],
    ["a name with a dot", [String.raw`properties.a\.b.c=1`], { properties: { "a.b": { c: 1 } } }],
    [
      "two values of one object",
      ["traits=x", "context.a.b=1", "context.a.c=2"].slice(1),
      { context: { a: { b: 1, c: 2 } } },
    ],
    ["a whole object", ['properties={"a":1}', "properties.b=2"], { properties: { a: 1, b: 2 } }],
  ])("sets %s", (_title, assignments, expected) => {
    expect(track(...assignments)).toEqual({ userId: "u", ...expected });
  });

  it.each(CALL_TYPES)("sets every field that a call has: %s", (type) => {
    const call = {};
    const fields = Object.keys(CALL_FIELDS[type]);
    for (const field of fields) setField(type, call, `${field}=x`);
    expect(Object.keys(call)).toEqual(fields);
  });

  it("sets __proto__ as the name that it is", () => {
    const call = track("properties.__proto__.polluted=1", "properties.constructor.prototype.polluted=1");
    expect(JSON.stringify(call)).toBe(
      '{"userId":"u","properties":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}}',
    );
    expect("polluted" in {}).toBe(false);
  });

  it.each([
    ["identify", "event=x", "An identify call has no field `event`. Its fields are userId, anonymousId,"],
    ["delete", "traits.a=1", "A delete call has no field `traits`. Its fields are userId, timestamp."],
    ["track", "toString.x=1", "A track call has no field `toString`."],
    ["track", "=x", "`=x` is not PATH=VALUE."],
  ] as const)("refuses on %s: %s", (type, assignment, message) => {
    expect(() => setField(type, sampleCall(type), assignment)).toThrow(message);
  });
});

describe("sampleCall", () => {
  it("returns a new call each time", () => {
    setField("track", sampleCall("track"), "properties.changed=1");
    expect(sampleCall("track")).not.toHaveProperty("properties.changed");
  });

  it("knows the two identities of an alias", () => {
    expect(sampleCall("alias")).toEqual({ userId: expect.any(String), previousId: expect.any(String) });
  });
});
