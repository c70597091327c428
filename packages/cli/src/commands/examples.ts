/** The commands. */
export type CommandName =
  | "serve"
  | "work"
  | "move"
  | "send"
  | "certify"
  | "verify"
  | "replay"
  | "listen"
  | "import"
  | "explain"
  | "completion";

/** The examples of each command's help. The tests run each of them unchanged. */
export const COMMAND_EXAMPLES: Readonly<Record<CommandName, readonly string[]>> = {
  serve: ["countersign serve --to http://localhost:3000/webhooks --secret dev"],
  work: ["countersign work --store postgres://countersign:secret@127.0.0.1:5432/countersign"],
  move: ["countersign move .countersign --store postgres://countersign:secret@127.0.0.1:5432/countersign"],
  send: [
    "countersign send track --to http://localhost:3000/webhooks --secret dev --set properties.plan=pro",
    "countersign send delete --to http://localhost:3000/webhooks --secret dev --set userId=u-7",
  ],
  certify: ["countersign certify http://localhost:3000/webhooks --secret dev --junit certify.xml"],
  verify: ["countersign verify --secret dev --signature cfc8098c2e5655c926d75e61f3e90d09222286e4 body.json"],
  listen: ["countersign listen --secret dev --record traffic.jsonl --forward http://localhost:3000/webhooks"],
  import: ["countersign import calls.jsonl --server http://127.0.0.1:4010"],
  completion: ["countersign completion bash"],
  explain: ["countersign explain ERR_SIGNATURE_MISMATCH", "countersign explain 404"],
  replay: ["countersign replay traffic.jsonl --to http://localhost:3000/webhooks"],
};

/** The examples of a command, as the end of its help. */
export function examples(command: CommandName): string {
  const list = COMMAND_EXAMPLES[command];
  return `\n${list.length > 1 ? "Examples" : "Example"}:\n${list.map((example) => `  ${example}`).join("\n")}`;
}
