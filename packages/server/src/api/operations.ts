import { certifyOperations } from "./certify-operations.ts";
import { deliveryOperations } from "./delivery-operations.ts";
import { messageOperations } from "./message-operations.ts";
import { recoveryOperations } from "./recovery-operations.ts";
import { settingsOperations } from "./settings-operations.ts";
import { statusOperations } from "./status-operations.ts";
import { testingOperations } from "./testing-operations.ts";
import { userOperations } from "./user-operations.ts";
import { verifyOperations } from "./verify-operations.ts";
import type { Operation } from "./operation.ts";

/** The operations by what they are about, in the order of the guide: generators of code make a part for each. */
const GROUPS: readonly (readonly [tag: string, operations: readonly Operation[]])[] = [
  ["Deliveries", deliveryOperations],
  ["Recovery", recoveryOperations],
  ["Messages", messageOperations],
  ["Settings", settingsOperations],
  ["State", statusOperations],
  ["Faults and time", testingOperations],
  ["Signatures", verifyOperations],
  ["Audits", certifyOperations],
  ["Users", userOperations],
];

/** What operations are about. */
export const TAGS: readonly string[] = GROUPS.map(([tag]) => tag);

/** Every operation of the control API. */
export const operations: readonly (Operation & { readonly tag: string })[] = GROUPS.flatMap(([tag, group]) =>
  group.map((operation) => ({ ...operation, tag })),
);
