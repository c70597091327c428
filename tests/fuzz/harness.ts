import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import fc from "fast-check";

/** One row of the table of what is fuzzed. */
export interface FuzzRow<Input, Subject> {
  readonly name: string;
  /** Of 1,000 cases of a run, how many are for this row. */
  readonly share: number;
  readonly input: fc.Arbitrary<Input>;
  /** Throws where the input breaks a promise. */
  readonly check: (input: Input, subject: Subject) => void | Promise<void>;
  /** Opens what the cases work on, such as a server. Each block of cases gets a new one. */
  readonly open?: () => Promise<Subject>;
  readonly close?: (subject: Subject) => Promise<void>;
}

/** A row whose types are its own business. Made by {@link fuzzTarget}. */
export interface FuzzTarget {
  readonly name: string;
  readonly share: number;
  /** Runs a block of cases, or with `path` the one case that failed. @throws Error that says how to repeat it. */
  readonly runBlock: (block: { seed: number; cases: number; path?: string | undefined }) => Promise<void>;
}

/** Makes a row of the table. */
export function fuzzTarget<Input, Subject = undefined>(row: FuzzRow<Input, Subject>): FuzzTarget {
  const { name, share, input, check, open, close } = row;
  return {
    name,
    share,
    async runBlock({ seed, cases, path }) {
      const subject = (await open?.()) as Subject;
      try {
        const property = fc.asyncProperty(input, async (value) => check(value, subject));
        const replay = path === undefined ? {} : { path };
        const result = await fc.check(property, { seed, numRuns: cases, ...replay });
        if (!result.failed) return;
        const repeat = `pnpm fuzz --target "${name}" --seed ${seed} --path "${result.counterexamplePath}"`;
        const cause = result.errorInstance;
        throw new Error(`${String(cause)}\nRepeat this case: ${repeat}\n${fc.defaultReportMessage(result)}`, {
          cause,
        });
      } finally {
        await close?.(subject);
      }
    },
  };
}

/** A run of the table: how many cases, from which seed, and where to note how far it came. */
export interface FuzzRun {
  readonly cases: number;
  readonly seed: number;
  /** A file that remembers which blocks have passed, so that a run that was stopped goes on where it was. */
  readonly progressFile?: string | undefined;
}

const BLOCK = 1_000;
const SHARES = 1_000;

/** Runs a target's share of a run, block by block. Returns how many cases passed, those of an earlier start included. */
export async function runTarget(target: FuzzTarget, run: FuzzRun): Promise<number> {
  const cases = Math.ceil((run.cases * target.share) / SHARES);
  const blocks = Math.ceil(cases / BLOCK);
  for (let block = blocksDone(target, run); block < blocks; block += 1) {
    const size = Math.min(BLOCK, cases - block * BLOCK);
    await target.runBlock({ seed: blockSeed(run.seed, target.name, block), cases: size });
    noteBlocks(target, run, block + 1);
  }
  return cases;
}

/** Each block has a seed of its own: any of them can be run again without those before it. */
function blockSeed(seed: number, name: string, block: number): number {
  return createHash("sha256").update(`${seed}/${name}/${block}`).digest().readInt32BE();
}

interface Progress {
  readonly cases: number;
  readonly seed: number;
  readonly blocks: Readonly<Record<string, number>>;
}

function readProgress({ cases, seed, progressFile }: FuzzRun): Progress {
  const fresh = { cases, seed, blocks: {} };
  if (progressFile === undefined || !existsSync(progressFile)) return fresh;
  const progress = JSON.parse(readFileSync(progressFile, "utf8")) as Progress;
  return progress.seed === seed && progress.cases === cases ? progress : fresh;
}

function blocksDone(target: FuzzTarget, run: FuzzRun): number {
  return readProgress(run).blocks[target.name] ?? 0;
}

function noteBlocks(target: FuzzTarget, run: FuzzRun, done: number): void {
  if (run.progressFile === undefined) return;
  const progress = readProgress(run);
  mkdirSync(dirname(run.progressFile), { recursive: true });
  const blocks = { ...progress.blocks, [target.name]: done };
  writeFileSync(run.progressFile, JSON.stringify({ ...progress, blocks }));
}
