// One bench, in a process that no other bench has used: bench.js NAME [ROUNDS]. Sends what it does, and at last its result.
import { benches } from "../benches.ts";
import type { FromBench } from "../harness/own-process.ts";

const [name = "", rounds] = process.argv.slice(2);
const send = (message: FromBench): void => void process.send?.(message);

// The command was ended.
process.on("disconnect", () => process.exit(1));

const bench = benches.find((each) => each.name === name);
if (bench === undefined) throw new Error(`There is no bench called ${name}.`);
const result = await bench.run({
  rounds: (usual) => (rounds === undefined ? usual : Number(rounds)),
  progress: (progress) => send({ progress }),
});
process.send?.({ result } satisfies FromBench, () => process.exit());
