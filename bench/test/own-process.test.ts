import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import type { Bench } from "../src/harness/bench.ts";
import { inOwnProcess } from "../src/harness/own-process.ts";

const script = fileURLToPath(new URL("support/child-bench.mjs", import.meta.url));
const never: Bench = {
  name: "echo",
  about: "says what it was given",
  run: () => Promise.reject(new Error("It ran in the process of the command.")),
};

function run(name: string, rounds: (usual: number) => number) {
  const told: string[] = [];
  const context = { rounds, progress: (what: string) => void told.push(what) };
  return { told, result: inOwnProcess({ ...never, name }, script).run(context) };
}

it("a bench runs in another process, tells of its progress, and gives its rows", async () => {
  const { told, result } = run("echo", (usual) => usual);
  const { rows } = await result;
  expect(told).toEqual(["begun"]);
  expect(rows[0]).toMatchObject({ what: "echo", against: "no rounds" });
  expect(rows[0]?.ours).not.toBe(process.pid);
});

it("--rounds reaches the bench", async () => {
  const { rows } = await run("echo", () => 3).result;
  expect(rows[0]).toMatchObject({ against: "3" });
});

it("a bench that ends without a result is an error that names it", async () => {
  await expect(run("broken", (usual) => usual).result).rejects.toThrow(
    "The bench broken ended with 7 and no result.",
  );
});
