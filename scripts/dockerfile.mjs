// Reads the Dockerfile, for what runs or checks its steps.
import { readFileSync } from "node:fs";

/**
 * @typedef {{ readonly name: string, readonly text: string }} Instruction
 * @typedef {{ readonly image: string, readonly name: string | undefined, readonly instructions: readonly Instruction[] }} Stage
 */

/**
 * The stages of a Dockerfile, each with its instructions in order.
 *
 * @param {string} file
 * @returns {readonly Stage[]}
 */
export function readStages(file) {
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => !/^\s*(?:#|$)/.test(line))
    .join("\n")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n");
  const stages = [];
  for (const line of lines) {
    const [, name = "", text = ""] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    if (name === "FROM") {
      const [, image = "", as] = /^(\S+)(?:\s+AS\s+(\S+))?$/.exec(text) ?? [];
      stages.push({ image, name: as, instructions: [] });
    } else stages.at(-1)?.instructions.push({ name, text });
  }
  return stages;
}

/**
 * The texts of all instructions of a name.
 *
 * @param {Stage} stage
 * @param {string} name
 * @returns {readonly string[]}
 */
export function textsOf({ instructions }, name) {
  return instructions.filter((instruction) => instruction.name === name).map(({ text }) => text);
}

/**
 * The arguments of an instruction in its exec form.
 *
 * @param {string} text
 * @returns {readonly string[]}
 */
export function execForm(text) {
  return JSON.parse(text.slice(text.indexOf("[")));
}
