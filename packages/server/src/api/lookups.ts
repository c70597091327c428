import type { Delivery, SourceSettings } from "@countersign/sender";
import { destinationOf, sourceOf, type NamedDestination } from "../settings/find-settings.ts";
import type { ApiContext } from "./operation.ts";
import { found } from "./problem.ts";

/** What a request for a delivery that is not there is answered. */
export const NO_DELIVERY = "Delivery not found. Somebody may have removed it, or the server after `keepFor`.";

/** The delivery of an id. @throws Problem if there is none. */
export async function deliveryFor({ sender }: ApiContext, id: string): Promise<Delivery> {
  return found(await sender.delivery(id), NO_DELIVERY);
}

/** The source of a name. @throws Problem if there is none. */
export function sourceFor({ sender }: ApiContext, name: string): SourceSettings {
  return found(
    sourceOf(sender.settings, name),
    `Source ${JSON.stringify(name)} not found. PUT /api/sources/NAME adds one.`,
  );
}

/** The destination of a key, `<source>/<destination>`. @throws Problem if there is none. */
export function destinationFor({ sender }: ApiContext, key: string): NamedDestination {
  return found(destinationOf(sender.settings, key), `There is no destination ${JSON.stringify(key)}.`);
}
