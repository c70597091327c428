import { expect, it } from "vitest";
import { runCommand } from "../support/command.ts";

it("the help of a command shows no default that says nothing", async () => {
  const { stdout } = await runCommand(["send", "--help"]);
  expect(stdout).toContain("--set <path=value>");
  expect(stdout).not.toContain("(default: [])");
});
