import { deliverySchemas } from "./schemas/deliveries.ts";
import { messageSchemas } from "./schemas/messages.ts";
import { settingsSchemas } from "./schemas/settings.ts";
import { statusSchemas } from "./schemas/status.ts";
import { testingSchemas } from "./schemas/testing.ts";
import { verifySchemas } from "./schemas/verify.ts";
import { eventSchemas } from "./schemas/events.ts";
import { certifySchemas } from "./schemas/certify.ts";
import { problemSchemas } from "./schemas/problems.ts";
import type { Schemas } from "./operation.ts";

/** The schemas that the answers of the control API are made of, by the name that `$ref` gives them. */
export const schemas: Schemas = {
  ...deliverySchemas,
  ...messageSchemas,
  ...settingsSchemas,
  ...statusSchemas,
  ...testingSchemas,
  ...verifySchemas,
  ...certifySchemas,
  ...eventSchemas,
  ...problemSchemas,
};
