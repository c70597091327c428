import { createSender, type Sender, type SenderOptions } from "@countersign/sender";
import { postgresStore } from "@countersign/postgres";
import { CONNECTIONS } from "./forwarders.ts";
import { SECRET } from "./messages.ts";

/** A sender whose store is PostgreSQL, with one source. */
export interface SenderOnPostgres extends Pick<SenderOptions, "retry" | "transport" | "deliver"> {
  /** URL of the database. */
  readonly database: string;
  /** Senders of the same schema share its deliveries. Default: `"countersign"`. */
  readonly schema?: string;
  /** Where it posts to. */
  readonly endpoint: string;
  /** Default: 1. */
  readonly destinations?: number;
  /** Of each destination. Default: {@link CONNECTIONS}. */
  readonly concurrency?: number;
}

export function openOnPostgres(options: SenderOnPostgres): Promise<Sender> {
  const { database, schema, endpoint, destinations = 1, concurrency = CONNECTIONS, ...rest } = options;
  const made = Array.from({ length: destinations }, (_, index) => ({
    name: `d${index}`,
    endpoints: [{ url: endpoint }],
    secret: SECRET,
    concurrency,
  }));
  return createSender({
    sources: [{ name: "bench", destinations: made }],
    store: postgresStore({ url: database, schema }),
    ...rest,
  });
}
