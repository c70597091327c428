import type { Audit, AuditResult, Language } from "@countersign/certify";
import { messageOf } from "@countersign/protocol";
import { Command } from "commander";
import { fileArgument, repeatedArgument, urlArgument } from "./arguments.ts";
import {
  caOption,
  concurrencyOption,
  headerOption,
  reachOf,
  secretOption,
  type ReceiverFlags,
} from "./receiver-options.ts";
import { examples } from "./examples.ts";
import { ACCEPTED_FORGERY } from "@countersign/sender/explain";
import { createProgress } from "../terminal/progress.ts";
import { jsonLine, printable, printableLines, type Terminal } from "../terminal/terminal.ts";
import { UsageError } from "../errors/usage-error.ts";
import { openReportFile } from "./report-file.ts";

interface CertifyFlags extends ReceiverFlags {
  readonly secret: string;
  readonly for?: string;
  readonly only?: readonly string[];
  readonly verbose?: boolean;
  readonly junit?: string;
  readonly json?: boolean;
}

/** `countersign certify` */
export function certifyCommand(terminal: Terminal, exit: (code: number) => void): Command {
  return new Command("certify")
    .summary("audit a receiver, in any language")
    .description(
      "Audits a receiver in any language with forged and broken messages, unusual JSON, slow and aborted requests and more. Prints the failures, MUSTs first; the first line of each names its cause. Sends well over a hundred messages with user IDs that start with countersign-certify. Exits 1 if a MUST is not met.",
    )
    .argument("<url>", "the receiver", urlArgument)
    .addOption(secretOption("the shared secret").makeOptionMandatory())
    .addOption(headerOption())
    .addOption(caOption())
    .addOption(concurrencyOption("how many audits run at the same time (default: 1)"))
    .option(
      "--for <language>",
      "language of the receiver, to suggest fixes for it: node, python, java, php, go, ruby",
    )
    .option("--only <audit>", "run only this audit; repeatable", repeatedArgument)
    .option("--verbose", "print every audit when it ends, including passed and skipped ones")
    .option("--junit <file>", "write a JUnit report", fileArgument)
    .option("--json", "print a JSON line for each audit, and the report as the last line")
    .addHelpText("after", examples("certify"))
    .action(async (url: string, flags: CertifyFlags) => {
      exit(await run(url, flags, terminal));
    });
}

async function run(url: string, flags: CertifyFlags, terminal: Terminal): Promise<number> {
  const { secret, only, junit, json = false, verbose = false } = flags;
  const {
    certify,
    formatResult,
    formatSummary,
    isAcceptedForgery,
    LANGUAGES,
    ReceiverUnreachableError,
    selectAudits,
    toJUnit,
  } = await import("@countersign/certify");
  const language = languageOf(flags.for, LANGUAGES);
  const selected = selectedBy(only, selectAudits);
  const reach = await reachOf(flags, terminal.cwd);
  // Before the audits, which take minutes: a report that cannot be written is known now, and no report of an earlier run is left.
  const file = junit === undefined ? undefined : await openReportFile(junit, terminal.cwd);
  const progress = await createProgress(terminal, json ? undefined : "Auditing", selected.length);
  const print = (result: AuditResult): void => {
    const text = formatResult(result);
    progress.print(isAcceptedForgery(result) ? alarmed(text, terminal) : coloured(text, result, terminal));
  };
  // Printed after everything that is more urgent.
  const manners: AuditResult[] = [];
  let done = 0;
  const report = await certify({
    url,
    secret,
    ...reach,
    concurrency: flags.concurrency,
    only,
    language,
    onResult(result) {
      done += 1;
      if (json) terminal.print(jsonLine(result));
      else if (verbose) print(result);
      else if (result.outcome === "failed" && result.level === "SHOULD") manners.push(result);
      // What was skipped is counted at the end, once for each reason.
      else if (result.outcome === "failed") print(result);
      progress.update(done);
    },
  })
    .catch((error: unknown) => {
      if (error instanceof ReceiverUnreachableError) return error;
      throw error;
    })
    .then((ended) => {
      for (const result of manners) print(result);
      return ended;
    })
    .finally(() => progress.stop());
  if (report instanceof ReceiverUnreachableError) {
    await file?.discard();
    terminal.complain(`${printable(report.message)}${caHint(report, flags)}`);
    return 1;
  }
  terminal.print(json ? jsonLine(report) : printableLines(formatSummary(report)));
  const forged = report.results.filter((result) => isAcceptedForgery(result));
  if (!json && forged.length > 0) {
    const list = forged.map(({ id }) => id).join(", ");
    terminal.print(loud(`${ACCEPTED_FORGERY}: ${list}`, terminal));
  }
  await file?.write(toJUnit(report));
  return report.passed ? 0 : 1;
}

/** The audits of `--only`. Names with commas between them are looked at one by one, so that the wrong one is named. */
function selectedBy(
  only: readonly string[] | undefined,
  select: (only: readonly string[] | undefined) => readonly Audit[],
): readonly Audit[] {
  const given = only?.flatMap((value) => (value.includes(",") ? (value.match(/[^\s,]+/g) ?? []) : value));
  let selected: readonly Audit[];
  try {
    selected = select(given);
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
  if (given === undefined || !only?.some((value) => value.includes(","))) return selected;
  throw new UsageError(`--only takes one audit. Pass ${given.map((name) => `--only ${name}`).join(" ")}.`);
}

/** What the library's message cannot say: how to make the command trust a certificate. */
function caHint({ message }: Error, { ca }: CertifyFlags): string {
  if (ca !== undefined || !/certificate|CERT_/i.test(message)) return "";
  return " If its certificate is of a private authority, pass that with --ca.";
}

function languageOf(given: string | undefined, languages: readonly Language[]): Language | undefined {
  if (given === undefined) return undefined;
  const language = languages.find((known) => known === given);
  if (language !== undefined) return language;
  throw new UsageError(
    `Unknown language \`${given}\`. Use --for with one of ${languages.join(", ")}, or leave it out.`,
  );
}

/** The first line says what it is, and stands out. */
function withFirst(text: string, mark: (first: string) => string): string {
  return printableLines(text).replace(/^.*/, mark);
}

/** A forgery that was accepted is worse than any other failure. */
function alarmed(text: string, terminal: Terminal): string {
  return withFirst(text, (first) => loud(`${ACCEPTED_FORGERY}  ${first}`, terminal));
}

function loud(text: string, { colors }: Terminal): string {
  return colors.bold(colors.red(text));
}

function coloured(text: string, { outcome }: AuditResult, { colors }: Terminal): string {
  return withFirst(text, { passed: colors.green, failed: colors.red, skipped: colors.yellow }[outcome]);
}
