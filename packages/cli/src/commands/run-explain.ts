import { adviceFor } from "@countersign/sender/explain";
import { CODE_GROUPS, findCode, nearestCode, type FoundCode } from "../codes/codes.ts";
import { UsageError } from "../errors/usage-error.ts";
import { jsonLine, type Terminal } from "../terminal/terminal.ts";

/** Prints every code, by where it appears. */
export function list({ print, colors }: Terminal, json: boolean): void {
  if (json) {
    for (const { where, pages } of CODE_GROUPS)
      for (const [code, page] of Object.entries(pages)) print(jsonLine({ code, where, ...page }));
    return;
  }
  for (const { where, pages } of CODE_GROUPS) {
    print(colors.bold(`${where.charAt(0).toUpperCase()}${where.slice(1)}`));
    for (const code of Object.keys(pages)) print(`  ${code}`);
  }
}

/** Prints the page of a code. */
export function explain(text: string, terminal: Terminal, json: boolean): void {
  const page = /^\d{3}$/.test(text) ? pageOfStatus(Number(text)) : findCode(text);
  if (page === undefined) {
    const near = nearestCode(text);
    const hint = near === undefined ? "" : ` Did you mean ${near}?`;
    throw new UsageError(
      `No code is called ${JSON.stringify(text)}.${hint} countersign explain without a code lists all.`,
    );
  }
  if (json) terminal.print(jsonLine(page));
  else print(page, terminal);
}

function print({ code, where, cause, fix, example }: FoundCode, terminal: Terminal): void {
  const { colors } = terminal;
  terminal.print(`${colors.bold(code)}, ${where}\n`);
  terminal.print(`Cause    ${cause}`);
  if (fix !== "") terminal.print(`Fix      ${fix}`);
  terminal.print(`Example  ${example.replaceAll("\n", "\n         ")}`);
}

/** The explanation of a receiver's status is in one place, for all surfaces. */
function pageOfStatus(status: number): FoundCode | undefined {
  // A delivery waits for a final status: no attempt has one of 1xx.
  if (status < 200 || status > 599) return undefined;
  const where = "the answer of a receiver: `status` of an attempt";
  const example = "countersign send track --to http://localhost:3000/webhooks --secret dev";
  const outcome = status < 300 ? "success" : status < 500 ? "rejected" : "server_error";
  const advice = adviceFor({ endpoint: "", outcome, status, durationMs: 0 });
  const cause = advice?.text ?? "The receiver has the message. Nothing needs to be done.";
  return { code: String(status), where, cause, fix: "", language: "sh", example };
}
