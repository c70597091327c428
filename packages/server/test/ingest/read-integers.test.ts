import { expect, it } from "vitest";
import { coreMs } from "../../../core/test/support/core-ms.ts";
import { readIntegers, type ReadIntegers } from "../../src/ingest/read-integers.ts";

const read = (text: string): Promise<ReadIntegers> => readIntegers(text, JSON.parse(text));
const BIG = "9007199254740993";
const many = (count: number): string => Array.from({ length: count }, () => BIG).join();

it("scans the text only once if no number in it has 16 digits", async () => {
  const value = { userId: 1, properties: { text: `"${BIG}` } };
  expect((await readIntegers(JSON.stringify(value), value)).value).toBe(value);
});

it("finds integers in any surroundings, but not inside strings", async () => {
  const text = `{"userId" :\n${BIG} ,"event":"\\":${BIG},\\\\","properties":{"a\\"b":[ ${BIG},[-${BIG}]],"${BIG}":"${BIG}","f":${BIG}.5,"e":1e20}}`;
  const { value, unsafeIntegers } = await read(text);
  expect(value).toEqual({ ...JSON.parse(text), userId: BIG });
  expect([...unsafeIntegers]).toEqual([[undefined, ['properties.a"b.0', 'properties.a"b.1.0']]]);
});

it.each([500, 501, 502, 20_000])(
  "leaves nothing of its own in a message, which is shown as it came when it nests too deeply: %i levels",
  async (levels) => {
    const deep = `${"[".repeat(levels - 2)}${BIG}${"]".repeat(levels - 2)}`;
    const fields = `"userId":"u","event":"e","properties":{"a":${deep}}`;
    for (const text of [`{${fields}}`, `{"batch":[{${fields}}]}`, `{"context":{"a":${deep}},"batch":[]}`]) {
      const { value } = await read(text);
      let inner: unknown = value;
      while (typeof inner === "object" && inner !== null)
        inner = Object.values(inner).at(text.startsWith('{"c') ? 0 : -1);
      expect(inner).toBe(Number(BIG));
    }
  },
);

it("leaves nothing of its own in what stands for a message and is none", async () => {
  const big = Number(BIG);
  const { value, unsafeIntegers } = await read(
    `{"batch":[${BIG},[${BIG},{"userId":${BIG}}],{"userId":${BIG}}]}`,
  );
  expect(value).toEqual({ batch: [big, [big, { userId: big }], { userId: BIG }] });
  expect(unsafeIntegers.size).toBe(0);
});

it("work for a message that nests deep and is full of long numbers grows with its size only", async () => {
  const text = `{"batch":[{"properties":${'{"a":'.repeat(60_000)}[${many(9_000)}]${"}".repeat(60_000)}}]}`;
  // It was minutes when each number looked up its own path.
  expect(await coreMs(() => read(text))).toBeLessThan(5_000);
});

it("reports ten paths of each message at most, of 200 characters", async () => {
  const text = `{"batch":[{"properties":{"a":[${many(50)}]}},{"traits":{"${"k".repeat(500)}":${BIG}}}]}`;
  const { unsafeIntegers } = await read(text);
  expect(unsafeIntegers.get(0)).toHaveLength(10);
  expect(unsafeIntegers.get(1)).toEqual([`traits.${"k".repeat(193)}`]);
});

it("holds the event loop for one part at a time", async () => {
  const text = `{"batch":[{"properties":{"a":[${`[${BIG}],`.repeat(20_000)}1]}}]}`;
  let turns = 0;
  const counting = setInterval(() => (turns += 1), 0);
  await read(text);
  clearInterval(counting);
  expect(turns).toBeGreaterThan(0);
});
