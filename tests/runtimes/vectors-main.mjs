// Prints what the vectors gave, as JSON: run by Node, Bun and Deno.
import process from "node:process";
import { runVectors } from "./vectors.mjs";

process.stdout.write(`${JSON.stringify(runVectors())}\n`);
