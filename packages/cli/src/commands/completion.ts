import { Argument, Command } from "commander";
import { bashScript } from "../completion/bash.ts";
import { describeProgram, type DescribedCommand } from "../completion/describe-program.ts";
import { fishScript } from "../completion/fish.ts";
import { zshScript } from "../completion/zsh.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { examples } from "./examples.ts";

type Shell = "bash" | "zsh" | "fish";

const SCRIPTS: Readonly<Record<Shell, (commands: readonly DescribedCommand[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** `countersign completion` */
export function completionCommand(terminal: Terminal, exit: (code: number) => void): Command {
  return new Command("completion")
    .summary("print a script that completes this command in a shell")
    .description(
      "Prints a script for a shell. It completes commands, options, types, audits, codes and files.\n\n" +
        "  bash  source <(countersign completion bash)  in ~/.bashrc\n" +
        "  zsh   source <(countersign completion zsh)   in ~/.zshrc, after compinit\n" +
        "  fish  countersign completion fish | source   in ~/.config/fish/config.fish",
    )
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(SCRIPTS)))
    .addHelpText("after", examples("completion"))
    .action(async (shell: Shell, _flags: object, command: Command) => {
      const { CODE_GROUPS } = await import("../codes/codes.ts");
      const { audits, LANGUAGES } = await import("@countersign/certify");
      const described = describeProgram(command.parent ?? command, {
        "certify --only": audits.map(({ id }) => id),
        "certify --for": LANGUAGES,
        "explain <code>": CODE_GROUPS.flatMap(({ pages }) => Object.keys(pages)),
      });
      terminal.stdout.write(SCRIPTS[shell](described));
      exit(0);
    });
}
