import { isForgery, verdictOf } from "@countersign/sender/explain";
import type { AttemptEventJson, DeliveryJson, LiveEvent } from "@countersign/server";
import { clockTime } from "../terminal/clock-time.ts";
import { layout, wrap, type Part } from "../terminal/layout.ts";
import type { Terminal } from "../terminal/terminal.ts";
import {
  adviceOf,
  answerOf,
  attemptParts,
  deliveryParts,
  nextParts,
  type LineContext,
  type Next,
} from "./attempt-line.ts";
import { Held } from "./held.ts";
import { isFailure } from "./is-failure.ts";
import { LineRate } from "./line-rate.ts";
import { noticeOf, type Notice } from "./notice-line.ts";

/** Options of a reporter. */
export interface ReporterOptions {
  readonly print: (line: string) => void;
  readonly colors: Terminal["colors"];
  /** The width of the terminal, asked before each line; `undefined` where there is none. */
  readonly columns: () => number | undefined;
  /** What is known of the destination that a delivery goes to. */
  readonly contextOf: (destination: string) => LineContext;
  /** How long a delivery is tried, in milliseconds, asked whenever it is told: another process on the store may change it. */
  readonly retryWindowMs: () => number;
  /** Prints failures only. */
  readonly onlyFailures?: boolean;
  /** Prints only forgeries that were accepted. */
  readonly quiet?: boolean;
  /** Other processes may deliver what this one accepts, so their answers are not known here. */
  readonly shared?: boolean;
}

/** A delivery, and when something happened to it. */
interface Happened {
  readonly at: string;
  readonly delivery: DeliveryJson;
}

/** An attempt whose line may have to wait. */
interface Attempted extends Happened {
  readonly attempt: AttemptEventJson;
}

/** So long after it was accepted, a delivery without an answer gets a line. */
const ANSWER_PATIENCE_MS = 300;
/** More deliveries without an answer are not watched. A terminal could not show them. */
const MAX_UNANSWERED = 1_000;
/** A failed attempt that nothing follows is shown after this time: the store is slow, or another attempt of its round. */
const NEXT_PATIENCE_MS = 1_000;
/** Above this many lines a second, one line a second sums up those that are no failures. */
const MAX_LINES_A_SECOND = 50;
/** How many pieces of advice are remembered as given. */
const MAX_ADVICE = 1_000;
/** Below an attempt: as wide as its time and id. */
const INDENT = " ".repeat(14);

/** Prints what happens on a server, for a person to read: a line for each attempt, and what to do about a failure. */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #rate: LineRate;
  /** Failed attempts, until it is known what their delivery does next, so that one line can say both. */
  readonly #attempted: Held<Attempted[]>;
  /** Deliveries that were accepted, and whose receiver has not answered yet. */
  readonly #unanswered: Held<Happened>;
  readonly #given = new Set<string>();
  /** When the last event was: a line about many has the same clock as the lines about one, which may be virtual. */
  #lastAt = "";

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#rate = new LineRate({ limit: MAX_LINES_A_SECOND, summarise: (counts) => this.#summary(counts) });
    this.#attempted = new Held(NEXT_PATIENCE_MS, (attempts) => this.#attempts(attempts));
    this.#unanswered = new Held(ANSWER_PATIENCE_MS, ({ at, delivery }) =>
      this.#delivery("accepted", at, delivery, {
        text: options.shared === true ? "accepted" : "accepted, no answer yet",
        tone: "dim",
        gap: 2,
      }),
    );
  }

  /** Prints what there is to say about an event, now or together with the next one of its delivery. */
  report(event: LiveEvent): void {
    this.#lastAt = event.at;
    switch (event.event) {
      case "accepted":
        if (this.#unanswered.size < MAX_UNANSWERED) this.#unanswered.hold(event.delivery.id, event);
        return;
      case "attempt":
        this.#unanswered.release(event.delivery.id);
        // What follows a success is known. What follows a failure comes with the next event of the delivery.
        if (event.attempt.outcome === "success") this.#attempts([event]);
        else this.#hold(event);
        return;
      case "retrying": {
        const until = new Date(Date.parse(event.delivery.acceptedAt) + this.#options.retryWindowMs());
        this.#attempts(this.#released(event.delivery), {
          kind: "again",
          delayMs: event.delayMs,
          until,
        });
        return;
      }
      case "delivered":
        this.#attempts(this.#released(event.delivery), { kind: "delivered" });
        return;
      case "failed":
      case "expired":
        this.#unanswered.release(event.delivery.id);
        this.#ended(event.event, event.at, event.delivery);
        return;
      default:
        this.#notice(event);
    }
  }

  /** Prints what was held back. Nothing is printed after it. */
  close(): void {
    this.#unanswered.releaseAll();
    for (const attempts of this.#attempted.releaseAll()) this.#attempts(attempts);
    this.#rate.close();
  }

  #hold(attempt: Attempted): void {
    const { id } = attempt.delivery;
    const earlier = this.#attempted.get(id);
    if (earlier) earlier.push(attempt);
    else this.#attempted.hold(id, [attempt]);
  }

  #released({ id }: DeliveryJson): readonly Attempted[] {
    return this.#attempted.release(id) ?? [];
  }

  #ended(state: "failed" | "expired", at: string, delivery: DeliveryJson): void {
    const next: Next = { kind: state };
    const held = this.#released(delivery);
    if (held.length > 0) this.#attempts(held, next);
    // Its attempts have a line already, or it ended without one: its time was over when the server started.
    else if (this.#shows(true, { kind: state }))
      this.#line([...deliveryParts(at, delivery), ...nextParts(next, 0)]);
  }

  /** Lines of attempts that ended together; the last one says what comes next. */
  #attempts(held: readonly Attempted[], next?: Next): void {
    for (const [index, each] of held.entries()) this.#attempt(each, next, index === held.length - 1);
  }

  #attempt({ at, delivery, attempt }: Attempted, next: Next | undefined, isLast: boolean): void {
    const context = this.#options.contextOf(delivery.destination);
    const { kind } = verdictOf(attempt, context);
    const failed = isFailure({ id: "", at, event: "attempt", delivery, attempt }, context);
    const counted = kind === "refused_forgery" ? "forgeries rejected" : failed ? "failed" : "delivered";
    if (kind !== "accepted_forgery" && !this.#shows(failed, { kind: counted })) return;
    // A rejected forgery is not retried, as it should be.
    const isExpected = kind === "refused_forgery" && next?.kind === "failed";
    this.#line(attemptParts(at, delivery, attempt, context, isLast && !isExpected ? next : undefined));
    if (!failed) return;
    const answer = this.#rate.isOver && !isForgery(attempt.fault) ? undefined : answerOf(attempt, context);
    if (answer !== undefined) this.#line([{ text: INDENT + JSON.stringify(answer), tone: "dim" }]);
    const retryWindowMs = this.#options.retryWindowMs();
    this.#advise(adviceOf(attempt, { ...context, retryWindowMs }, next));
  }

  /** Gives advice once per endpoint and kind. */
  #advise(advice: { readonly kind: string; readonly text: string } | undefined): void {
    if (advice === undefined || this.#given.has(advice.kind) || this.#given.size >= MAX_ADVICE) return;
    this.#given.add(advice.kind);
    const [first = "", ...rest] = wrap(advice.text, `${INDENT}  `, this.#options.columns());
    this.#options.print(`${INDENT}→ ${first.trimStart()}`);
    for (const line of rest) this.#options.print(line);
  }

  #delivery(kind: string, at: string, delivery: DeliveryJson, part: Part): void {
    if (this.#shows(false, { kind })) this.#line([...deliveryParts(at, delivery), part]);
  }

  #notice(event: LiveEvent): void {
    const notice = noticeOf(event);
    if (notice === undefined) return;
    const failed = isFailure(event, {});
    // With a few bytes of gzip, anyone who can reach /v1 can have thousands rejected: the log must not grow with them.
    const isCertain = failed && event.event !== "rejected";
    if (this.#shows(failed, notice, isCertain)) this.#line(notice.parts);
  }

  /**
   * Whether a line is printed; it is counted in any case.
   *
   * @param isCertain Prints it however many there are.
   */
  #shows(failed: boolean, { kind, count }: Pick<Notice, "kind" | "count">, isCertain = failed): boolean {
    const { onlyFailures = false, quiet = false } = this.#options;
    if (quiet || (onlyFailures && !failed)) return false;
    if (!isCertain) return this.#rate.allows(kind, count);
    this.#rate.always();
    return true;
  }

  #summary(counts: ReadonlyMap<string, number>): void {
    const text = [...counts]
      .map(([kind, count]) => `${count} ${count === 1 ? kind.replace(/s$/, "") : kind}`)
      .join(", ");
    this.#line([
      { text: clockTime(this.#lastAt), tone: "dim" },
      { text },
      { text: "(more than 50 lines a second; failed deliveries are shown)", short: "", tone: "dim" },
    ]);
  }

  #line(parts: readonly Part[]): void {
    const { print, colors, columns } = this.#options;
    print(layout(parts, colors, columns()));
  }
}
