import { describe, expect, it } from "vitest";
import type { Bench } from "../src/harness/bench.ts";
import { atLeast, type Row } from "../src/harness/row.ts";
import { runBenches } from "../src/harness/run-benches.ts";

function benchOf(name: string, median: number, more: Partial<Bench> & Partial<Row> = {}): Bench {
  const { kind, ...row } = more;
  const ratio = { median, low: median, high: median };
  return {
    name,
    about: `measures ${name}`,
    ...(kind === undefined ? {} : { kind }),
    run: ({ rounds }) =>
      Promise.resolve({
        rows: [{ what: name, against: `${rounds(7)} rounds`, unit: "", ratio, target: atLeast(1), ...row }],
      }),
  };
}

async function run(args: readonly string[], benches: readonly Bench[]) {
  const [printed, reported, kept]: [string[], string[], string[]] = [[], [], []];
  const code = await runBenches(args, {
    benches,
    print: (line) => printed.push(line),
    report: (line) => reported.push(line),
    keep: (name, _, stolenCores) => Promise.resolve(void kept.push(`${name} ${stolenCores}`)),
    watchStolen: () => () => 0.25,
  });
  return { code, printed: printed.join("\n"), reported: reported.join("\n"), kept };
}

const good = benchOf("good", 2);
const bad = benchOf("bad", 0.5);
const soak = benchOf("soak", 0.1, { kind: "soak" });

describe("the exit code", () => {
  it.each<[string, string[], Bench[], number]>([
    ["is 0 when every target is met", ["--check"], [good], 0],
    ["is 1 with --check when one is missed", ["--check"], [good, bad], 1],
    ["is 0 without --check, whatever is missed", [], [good, bad], 0],
    [
      "is 0 when the row that would miss was skipped",
      ["--check"],
      [benchOf("x", 0, { skipped: "no redis" })],
      0,
    ],
    ["counts the named benches only", ["good", "--check"], [good, bad], 0],
    ["is 2 for a bench that does not exist", ["goood"], [good], 2],
    ["is 2 for an option that does not exist", ["--chekc"], [good], 2],
    ["is 2 for no number of rounds", ["--rounds", "few"], [good], 2],
  ])("%s", async (_, args, benches, expected) => {
    const { code } = await run(args, benches);
    expect(code).toBe(expected);
  });
});

describe("the command", () => {
  it("says which benches there are when it does not know one", async () => {
    const { reported } = await run(["goood"], [good, bad]);
    expect(reported).toContain("There is no bench called goood; there are good, bad.");
  });

  it("prints one table of all rows, in the order of the benches", async () => {
    const { printed } = await run([], [good, bad]);
    expect(printed.split("\n").map((line) => line.split(" ")[0])).toEqual(["what", "----", "good", "bad"]);
  });

  it("measures curves when they are named, or when the page is written", async () => {
    const curve = benchOf("curve", 1, { kind: "curve" });
    expect((await run([], [good, curve])).printed).not.toContain("curve");
    expect((await run(["curve"], [good, curve])).printed).toContain("curve");
    expect((await run(["--write"], [good, curve, soak])).kept).toEqual(["good 0.25", "curve 0.25"]);
  });

  it("leaves the soak out unless it is named", async () => {
    expect((await run([], [good, soak])).printed).not.toContain("soak");
    expect((await run(["soak"], [good, soak])).printed).toContain("soak");
  });

  it("prints JSON that holds each row with its bench and verdict", async () => {
    const { printed } = await run(["--json"], [good, bad]);
    expect(JSON.parse(printed)).toMatchObject({
      rows: [
        { bench: "good", what: "good", verdict: "met", ratio: { median: 2 } },
        { bench: "bad", verdict: "MISSED" },
      ],
      charts: [],
    });
  });

  it("gives benches the rounds asked for, else lets each have its own", async () => {
    expect((await run(["--rounds", "2"], [good])).printed).toContain("2 rounds");
    expect((await run([], [good])).printed).toContain("7 rounds");
  });

  it("keeps results with --write only", async () => {
    expect((await run([], [good])).kept).toEqual([]);
    expect((await run(["--write"], [good, bad])).kept).toEqual(["good 0.25", "bad 0.25"]);
  });

  it("says what the host took while a bench ran, so that a slow machine is not taken for slow code", async () => {
    const { reported, printed } = await run(["good", "--json"], [good]);
    expect(reported).toContain("meanwhile, the host of this machine took 0.25 of its cores");
    expect(JSON.parse(printed)).toMatchObject({ rows: [{ bench: "good", stolenCores: 0.25 }] });
  });
});
