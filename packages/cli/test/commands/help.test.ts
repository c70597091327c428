import { expect, it } from "vitest";
import { runHere } from "../support/run-here.ts";

it("the help of a command shows no default that says nothing", async () => {
  const { stdout } = await runHere(["send", "--help"]);
  expect(stdout).toContain("--set <path=value>");
  expect(stdout).not.toContain("(default: [])");
});

it("the lines for the shells are whole on a terminal of 80 columns", async () => {
  const { stdout } = await runHere(["completion", "--help"]);
  expect(stdout).toMatch(/^ {2}zsh .* after compinit$/m);
  expect(stdout).toMatch(/^ {2}fish .*config\.fish$/m);
});
