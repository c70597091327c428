import { accepts } from "./benches/accepts.ts";
import { adapters } from "./benches/adapters.ts";
import { backlog } from "./benches/backlog.ts";
import { capacity } from "./benches/capacity.ts";
import { client } from "./benches/client.ts";
import { curves } from "./benches/curves.ts";
import { fileMillion } from "./benches/file-million.ts";
import { forged } from "./benches/forged.ts";
import { imports } from "./benches/imports.ts";
import { ingestion } from "./benches/ingestion.ts";
import { isolation } from "./benches/isolation.ts";
import { latency } from "./benches/latency.ts";
import { postgres } from "./benches/postgres.ts";
import { postgresMillion } from "./benches/postgres-million.ts";
import { postgresSteady } from "./benches/postgres-steady.ts";
import { sender } from "./benches/sender.ts";
import { size } from "./benches/size.ts";
import { slowDisk } from "./benches/slow-disk.ts";
import { soak } from "./benches/soak.ts";
import { transport } from "./benches/transport.ts";
import { verify } from "./benches/verify.ts";
import type { Bench } from "./harness/bench.ts";

/** Every bench, in the order of the table. */
export const benches: readonly Bench[] = [
  verify,
  ...adapters,
  forged,
  sender,
  postgres,
  postgresSteady,
  latency,
  slowDisk,
  backlog,
  capacity,
  ingestion,
  accepts,
  transport,
  isolation,
  client,
  size,
  imports,
  fileMillion,
  postgresMillion,
  ...curves,
  soak,
];
