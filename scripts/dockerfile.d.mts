/** One instruction of a Dockerfile. */
export interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** What begins with `FROM`. */
export interface Stage {
  readonly image: string;
  readonly name: string | undefined;
  readonly instructions: readonly Instruction[];
}

export function readStages(file: string): readonly Stage[];
export function textsOf(stage: Stage, name: string): readonly string[];
export function execForm(text: string): readonly string[];
