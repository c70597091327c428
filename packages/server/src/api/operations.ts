import { certifyOperations } from "./certify-operations.ts";
import { deliveryOperations } from "./delivery-operations.ts";
import { messageOperations } from "./message-operations.ts";
import { recoveryOperations } from "./recovery-operations.ts";
import { settingsOperations } from "./settings-operations.ts";
import { statusOperations } from "./status-operations.ts";
import { testingOperations } from "./testing-operations.ts";
import { userOperations } from "./user-operations.ts";
import { verifyOperations } from "./verify-operations.ts";
import type { DescribedOperation, Tag } from "../open-api/document.ts";
import type { Operation } from "./operation.ts";

interface Group extends Tag {
  readonly operations: readonly Operation[];
}

/** The operations by what they are about, in the order of the guide. */
const GROUPS: readonly Group[] = [
  {
    name: "Deliveries",
    description: "Deliveries, calls without one, and the events of both.",
    operations: deliveryOperations,
  },
  {
    name: "Recovery",
    description: "What to do after an outage: try again, send again, remove.",
    operations: recoveryOperations,
  },
  { name: "Messages", description: "Messages to send by hand.", operations: messageOperations },
  {
    name: "Settings",
    description: "Sources and destinations, while the server runs.",
    operations: settingsOperations,
  },
  { name: "State", description: "The server, its store and its endpoints.", operations: statusOperations },
  {
    name: "Faults and time",
    description: "For tests: faults on demand, and a virtual clock.",
    operations: testingOperations,
  },
  { name: "Signatures", description: "Why a signature matches, or not.", operations: verifyOperations },
  { name: "Audits", description: "Whether a receiver follows the rules.", operations: certifyOperations },
  { name: "Users", description: "Audiences, computed traits and deletions.", operations: userOperations },
];

/** What operations are about. */
export const TAGS: readonly Tag[] = GROUPS.map(({ name, description }) => ({ name, description }));

/** Every operation of the control API. */
export const operations: readonly (Operation & Pick<DescribedOperation, "tag">)[] = GROUPS.flatMap(
  ({ name, operations: group }) => group.map((operation) => ({ ...operation, tag: name })),
);
