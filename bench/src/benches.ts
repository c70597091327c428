import { adapters } from "./benches/adapters.ts";
import { forged } from "./benches/forged.ts";
import { verify } from "./benches/verify.ts";
import type { Bench } from "./harness/bench.ts";

/** Every bench, in the order of the table. */
export const benches: readonly Bench[] = [verify, ...adapters, forged];
