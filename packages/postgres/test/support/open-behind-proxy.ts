import { postgresStore } from "@countersign/postgres";
import { systemClock } from "@countersign/protocol";
import { onTestFinished } from "vitest";
import { acceptanceOf, quietContext } from "../../../sender/test/support/acceptances.ts";
import { startProxy } from "./proxy.ts";
import { newSchema } from "./start-postgres.ts";

/** Opens a store that reaches the database by way of a proxy. */
export async function openBehindProxy(url: string) {
  const proxy = await startProxy(Number(new URL(url).port));
  const schema = newSchema();
  const store = postgresStore({ url: proxy.url(url), schema });
  await store.open(quietContext(systemClock()));
  onTestFinished(() => store.close());
  const accept = (id: string, destination: string) =>
    store.accept(acceptanceOf([{ id, destination, acceptedAt: Date.now() }]));
  return { proxy, schema, store, accept };
}
