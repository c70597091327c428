import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../support/command.ts";
import { runHere } from "../support/run-here.ts";
import { temporaryDirectory } from "../../../../tests/support/resources.ts";

/** What a shell offers for each line, as the person at the prompt would have typed it so far. */
type Complete = (lines: readonly string[], cwd: string) => readonly (readonly string[])[];

const has = (shell: string): boolean => spawnSync(shell, ["-c", ":"]).status === 0;
const SCRIPTS: Record<string, string> = {};

beforeAll(async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    SCRIPTS[shell] = (await runCommand(["completion", shell])).stdout;
  }
});

function run(shell: string, script: string, cwd: string): string {
  const { stdout, stderr, status } = spawnSync(
    shell,
    shell === "zsh" ? ["-f", "-c", script] : ["-c", script],
    {
      cwd,
      encoding: "utf8",
      env: {
        PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter),
        HOME: cwd,
        TERM: "xterm",
        // Without it, fish reads no name that is not ASCII, such as that of the folder.
        LC_ALL: "C.UTF-8",
      },
      timeout: 25_000,
    },
  );
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  return stdout;
}

const bash: Complete = (typed, cwd) => {
  writeFileSync(join(cwd, "completion.bash"), SCRIPTS["bash"] ?? "");
  return typed.map((line) => {
    const words = line.split(" ").map((word) => JSON.stringify(word));
    const state = `COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}`;
    const script = `. ./completion.bash; ${state}; _countersign; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return linesOf(run("bash", script, cwd));
  });
};

const fish: Complete = (typed, cwd) => {
  writeFileSync(join(cwd, "completion.fish"), SCRIPTS["fish"] ?? "");
  return typed.map((line) => {
    const offered = linesOf(run("fish", `source completion.fish; complete -C ${JSON.stringify(line)}`, cwd));
    return offered.map((text) => text.split("\t")[0] ?? "");
  });
};

/** Types each line in a terminal of its own, presses the key that lists what zsh offers, then one that prints a mark. */
const zsh: Complete = (typed, cwd) => {
  writeFileSync(join(cwd, "_countersign"), SCRIPTS["zsh"] ?? "");
  const setUp = [
    "autoload -Uz compinit && compinit -u -D",
    "source ./_countersign",
    "PROMPT=; LISTMAX=0; zstyle ':completion:*' verbose false; setopt no_list_beep no_beep",
    "stty columns 200 rows 400; bindkey '^I' list-choices",
    // The terminal shows what is typed, too. The quotes keep that from being taken for the mark itself.
    "mark() { print -n MA''RK; zle kill-whole-line }; zle -N mark; bindkey '^G' mark",
    "print RE''ADY",
  ].join("; ");
  const script = `
    zmodload zsh/zpty
    until_shown() { text=; while [[ $text != *$1* ]]; do zpty -r shell part || return; text+=$part; done }
    zpty shell zsh -f -i
    zpty -w shell ${JSON.stringify(setUp)}
    until_shown READY
    for line in ${typed.map((line) => JSON.stringify(line)).join(" ")}; do
      zpty -w -n shell "$line"$'\\t\\x07'
      until_shown MARK
      print -r -- "$text"
    done
    zpty -d shell`;
  // oxlint-disable-next-line no-control-regex -- what moves the cursor
  const shown = run("zsh", script, cwd).replaceAll(/\u001b\[[\d;?]*[A-Za-z]|\r/g, " ");
  return shown.split("MARK").map((text) => text.trim().split(/\s+/));
};

function linesOf(text: string): readonly string[] {
  return text.split("\n").filter((line) => line !== "");
}

describe.each<[string, Complete]>([
  ["bash", bash],
  ["zsh", zsh],
  ["fish", fish],
])("completion in %s", (shell, complete) => {
  const isMissing = !has(shell);

  it.skipIf(isMissing)("offers the commands", () => {
    const [all, some] = complete(["countersign ", "countersign se"], temporaryDirectory());
    expect(all).toEqual(expect.arrayContaining(["serve", "send", "certify", "replay", "listen", "explain"]));
    expect(some).toEqual(expect.arrayContaining(["serve", "send"]));
    expect(some).not.toContain("replay");
  });

  it.skipIf(isMissing)("offers the options of the command, and no others", () => {
    const [offered] = complete(["countersign replay --"], temporaryDirectory());
    expect(offered).toEqual(
      expect.arrayContaining(["--to", "--secret", "--header", "--ca", "--concurrency", "--help"]),
    );
    expect(offered).not.toContain("--drain");
  });

  it.skipIf(isMissing)("offers types, audits, languages, codes and shells", () => {
    const typed = [
      "countersign send tr",
      "countersign certify --only accepts-tr",
      "countersign certify --for py",
      "countersign explain ERR_STORE_F",
      "countersign completion z",
    ];
    const [types, audits, languages, codes, shells] = complete(typed, temporaryDirectory());
    expect(types).toContain("track");
    expect(audits).toContain("accepts-track");
    expect(languages).toContain("python");
    expect(codes).toEqual(
      expect.arrayContaining(["ERR_STORE_FULL", "ERR_STORE_FAILED", "ERR_STORE_FOREIGN"]),
    );
    expect(shells).toContain("zsh");
  });

  it.skipIf(isMissing)("offers files where a file belongs; in bash, readline does", () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, "traffic.jsonl"), "");
    const offered = complete(["countersign replay tr", "countersign serve --record tr"], cwd);
    for (const files of offered.slice(0, 2)) {
      expect(files.filter((word) => word === "traffic.jsonl")).toHaveLength(shell === "bash" ? 0 : 1);
    }
  });

  it.skipIf(isMissing)("offers only folders where a folder belongs", () => {
    const cwd = temporaryDirectory();
    mkdirSync(join(cwd, "data"));
    writeFileSync(join(cwd, "data.json"), "");
    const [offered = []] = complete(["countersign serve --data da"], cwd);
    const names = offered.map((text) => text.replace(/\/$/, ""));
    expect(names).toContain("data");
    expect(names).not.toContain("data.json");
  });
});

it("completion of a shell that it does not know says which it knows", async () => {
  const { code, stderr } = await runHere(["completion", "tcsh"]);
  expect(stderr).toContain("Allowed choices are bash, zsh, fish.");
  expect(code).toBe(2);
});

it("a bash script leaves names of files to readline, which knows about quotes and folders", () => {
  expect(SCRIPTS["bash"]).toContain("complete -o default -F _countersign countersign");
});
