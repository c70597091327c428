import type { AttemptEventJson, DeliveryJson, LiveEvent } from "@countersign/server";
import { printable, type Terminal } from "../terminal/terminal.ts";

type Colors = Terminal["colors"];

/** One line for an event, or undefined if another line already reports it. */
export function formatEvent(event: LiveEvent, colors: Colors): string | undefined {
  const time = colors.dim(event.at.slice(11, 23));
  switch (event.event) {
    case "attempt":
      return `${time} ${attemptLine(event.delivery, event.attempt, colors)}`;
    case "retrying":
      return `${time} ${colors.yellow("retrying ")} ${what(event.delivery)} in ${(event.delayMs / 1_000).toFixed(1)} s`;
    case "failed":
      return `${time} ${colors.red("failed   ")} ${what(event.delivery)}: every endpoint rejected it`;
    case "expired":
      return `${time} ${colors.red("expired  ")} ${what(event.delivery)}: no endpoint accepted it in time`;
    case "skipped":
      return `${time} ${colors.dim("skipped  ")} ${printable(event.type)} ${printable(event.messageId)}: ${printable(event.reason)}`;
    case "rejected":
      return `${time} ${colors.red("rejected ")} ${printable(event.rejection.type ?? "message")}: ${printable(event.rejection.detail)}`;
    case "warned":
      return `${time} ${colors.yellow("warning  ")} ${printable(event.warning.type)}: ${printable(event.warning.detail)}`;
    case "store_error":
      return `${time} ${colors.red("error    ")} ${printable(event.message)}`;
    default:
      return undefined;
  }
}

function attemptLine(delivery: DeliveryJson, attempt: AttemptEventJson, colors: Colors): string {
  const { outcome, status, code, message, durationMs, endpoint, fault } = attempt;
  const mark = outcome === "success" ? colors.green("delivered") : colors.red("attempt  ");
  const answer = status ?? printable(code ?? message ?? outcome);
  const injected = fault === undefined ? "" : ` (fault: ${fault})`;
  return `${mark} ${what(delivery)} to ${printable(endpoint)}: ${answer} in ${Math.round(durationMs)} ms${injected}`;
}

function what({ type, event, identity }: DeliveryJson): string {
  return `${type}${event === undefined ? "" : ` ${JSON.stringify(printable(event))}`} of ${printable(identity)}`;
}
