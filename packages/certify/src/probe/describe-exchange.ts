import type { Outcome } from "../wire/exchange.ts";
import type { Delivery } from "./probe.ts";

const MAX_SHOWN = 200;
const MAX_HEADER_SHOWN = 48;

/** A request in one line. */
export function describeDelivery(url: URL, delivery: Delivery): string {
  const { what, method = "POST", body, signature, headers, transfer } = delivery;
  const others = Object.entries(headers ?? {}).map(([name, value]) => `, ${name}: ${quote(value)}`);
  const { declaredLength = Buffer.byteLength(body) } = transfer ?? {};
  const size = declaredLength === null ? "chunked" : `${declaredLength} bytes`;
  const details = `${size}, X-Signature: ${describeSignature(signature)}${others.join("")}`;
  return `${method} ${url.pathname} with ${what} (${details})`;
}

/** An answer in one line, or that there was none. Everything listed in `hidden` is masked, in upper and lower case. */
export function describeOutcome({ answer, error, durationMs }: Outcome, hidden: readonly string[]): string {
  if (answer === undefined) return `no answer: ${error}`;
  const body = inOneLine(answer.body, hidden);
  const status = `${answer.status} ${masked(answer.reason, hidden)}`.trim();
  const [, location] = /^location:(.*)$/im.exec(answer.headers) ?? [];
  const target = location === undefined ? "" : `Location: ${inOneLine(location, hidden)}, `;
  return `${status} after ${Math.round(durationMs)} ms, ${target}${body === "" ? "no body" : `body: ${body}`}`;
}

/** A text without what is hidden, and without what would break or disguise the line. */
function inOneLine(text: string, hidden: readonly string[]): string {
  const line = masked(text, hidden)
    .replaceAll(/[\p{C}\s]+/gu, " ")
    .trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}...` : line;
}

function masked(text: string, hidden: readonly string[]): string {
  const any = hidden.map((secret) => secret.replaceAll(/[^\w\s]/g, String.raw`\$&`)).join("|");
  return text.replaceAll(new RegExp(any, "gi"), "[masked]");
}

function describeSignature(signature: Delivery["signature"]): string {
  if (signature === undefined) return "the right one";
  if (signature === null) return "absent";
  return typeof signature === "string" ? quote(signature) : signature.map(quote).join(" and again ");
}

function quote(value: string): string {
  return JSON.stringify(
    value.length > MAX_HEADER_SHOWN ? `${value.slice(0, MAX_HEADER_SHOWN - 3)}...` : value,
  );
}
