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

/** Every operation of the control API. */
export const operations: readonly Operation[] = [
  ...deliveryOperations,
  ...recoveryOperations,
  ...messageOperations,
  ...settingsOperations,
  ...statusOperations,
  ...testingOperations,
  ...verifyOperations,
  ...certifyOperations,
  ...userOperations,
];
