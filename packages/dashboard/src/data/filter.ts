import type { Query } from "../route/query.ts";
import type { LastAttempt, Row } from "../shapes/row.ts";
import type { DeliveryInfo } from "../shapes/types.ts";

/** Which deliveries the list shows, as the URL holds it. Every field that is set must match. */
export interface Filter {
  readonly q: string;
  readonly state: readonly string[];
  readonly type: readonly string[];
  readonly event: readonly string[];
  readonly identity: readonly string[];
  readonly destination: readonly string[];
  readonly endpoint: readonly string[];
  readonly outcome: readonly string[];
  readonly status: readonly string[];
  readonly since: string;
  readonly until: string;
  /** Response time of the last attempt, in milliseconds: above the one, up to the other. The page applies these itself. */
  readonly over: string;
  readonly upTo: string;
}

const LISTS = ["state", "type", "event", "identity", "destination", "endpoint", "outcome", "status"] as const;
const TEXTS = ["q", "since", "until", "over", "upTo"] as const;
/** What an attempt can change. */
const CHANGING = ["state", "outcome", "status", "endpoint", "over", "upTo"] as const;

/** The names of everything that filters, in the order in which they are shown. */
const FILTER_NAMES: readonly (keyof Filter)[] = [...TEXTS, ...LISTS];

/** Reads the filter of a URL; other parameters are ignored. */
export function readFilter(parameters: URLSearchParams): Filter {
  const lists = LISTS.map((name) => [name, parameters.getAll(name)]);
  const texts = TEXTS.map((name) => [name, parameters.get(name) ?? ""]);
  return Object.fromEntries([...lists, ...texts]) as Filter;
}

/** Which fields of a filter are set. */
export function activeNames(filter: Filter): readonly (keyof Filter)[] {
  return FILTER_NAMES.filter((name) => filter[name].length > 0);
}

/** The part of a filter that the server applies. */
export function toQuery({ over: _, upTo: __, ...query }: Filter): Query {
  return query;
}

/** Whether deliveries can begin or cease to match while they are tried. */
export function changes(filter: Filter): boolean {
  return CHANGING.some((name) => filter[name].length > 0);
}

/** Whether the page itself has to leave rows out that the server lists. */
export function isLocal(filter: Filter): boolean {
  return Boolean(filter.over || filter.upTo);
}

/** Whether a delivery matches by what does not change. */
export function matchesInfo(filter: Filter, info: DeliveryInfo): boolean {
  const { q, since, until, type, event, identity, destination } = filter;
  const at = Date.parse(info.acceptedAt);
  return (
    (!q || [info.id, info.messageId, info.identity].includes(q) || info.event?.startsWith(q) === true) &&
    (!since || at >= Date.parse(since)) &&
    (!until || at < Date.parse(until)) &&
    has(type, info.type) &&
    has(event, info.event ?? "") &&
    has(identity, info.identity) &&
    has(destination, info.destination)
  );
}

/** Whether a row matches by what its attempts have changed. */
export function matchesRow(
  { state, outcome, status, endpoint, over, upTo }: Filter,
  row: Pick<Row, "state" | "last">,
): boolean {
  const last: Partial<LastAttempt> = row.last ?? {};
  const { durationMs = Number.NaN } = last;
  return (
    has(state, row.state) &&
    has(outcome, last.outcome) &&
    has(status, String(last.status)) &&
    has(endpoint, last.endpoint) &&
    (!over || durationMs > Number(over)) &&
    (!upTo || durationMs <= Number(upTo))
  );
}

function has(list: readonly string[], value: string | undefined): boolean {
  return list.length === 0 || (value !== undefined && list.includes(value));
}
