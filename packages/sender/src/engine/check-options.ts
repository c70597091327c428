import { checkOptionNames, type OptionNames } from "@countersign/protocol";
import type { DeliveryFilter } from "../delivery/delivery-filter.ts";
import type { CallOptions, CloseOptions, DeleteOptions } from "./sender.ts";

const CALL_NAMES: OptionNames<CallOptions> = { source: true, writeKey: true };
const DELETE_NAMES: OptionNames<DeleteOptions> = { sources: true, timestamp: true };
const CLOSE_NAMES: OptionNames<CloseOptions> = { deadline: true };
const FILTER_NAMES: OptionNames<DeliveryFilter> = {
  state: true,
  source: true,
  destination: true,
  type: true,
  messageId: true,
  identity: true,
  event: true,
  outcome: true,
  status: true,
  endpoint: true,
  q: true,
  since: true,
  until: true,
  limit: true,
  after: true,
};

/** @throws TypeError when a call is given an unknown option, or a callback, which would never run */
export function checkCallOptions(method: string, options: CallOptions): void {
  if (typeof options === "function") {
    throw new TypeError(
      `${method}() takes no callback. Await the promise that it returns for the receipt, and receipt.settled() for the deliveries.`,
    );
  }
  checkOptionNames(`${method}()`, options, CALL_NAMES);
}

/** @throws TypeError when `deleteUser()` is given an unknown option */
export function checkDeleteOptions(options: DeleteOptions): void {
  checkOptionNames("deleteUser()", options, DELETE_NAMES, { source: "it is called sources here, a list" });
}

/** @throws TypeError when `close()` is given an unknown option */
export function checkCloseOptions(options: CloseOptions): void {
  checkOptionNames("close()", options, CLOSE_NAMES, { timeout: "it is called deadline here" });
}

/** @throws TypeError when `deliveries()` is given an unknown field: it would list what is not meant */
export function checkDeliveryFilter(filter: DeliveryFilter): void {
  const userId = "it is called identity here, and is a userId or an anonymousId";
  const before = "after takes the cursor of the last delivery of a page";
  const hints = { userId, anonymousId: userId, id: "delivery(id) gives one delivery", before };
  checkOptionNames("deliveries()", filter, FILTER_NAMES, hints);
}
