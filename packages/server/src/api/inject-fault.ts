import { type FaultList, type FaultRequest, MOST_FAULTS } from "../live/fault-list.ts";
import type { FaultJson } from "../shapes/fault-shapes.ts";
import { Problem } from "./problem.ts";

export const TOO_MANY_FAULTS: string = `${MOST_FAULTS} faults are active. Cancel those that are not needed, with DELETE /api/faults/{id}.`;

/**
 * Puts a fault in force.
 *
 * @throws Problem when there are too many.
 */
export function injectFault(faults: FaultList, request: FaultRequest): FaultJson {
  const injected = faults.inject(request);
  if (injected === undefined) throw new Problem(409, TOO_MANY_FAULTS);
  return injected;
}
