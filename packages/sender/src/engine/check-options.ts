import { checkOptionNames, type OptionNames } from "@countersign/protocol";
import type { CallOptions } from "../calls/calls.ts";
import type { DeliveryFilter } from "../delivery/delivery.ts";
import type { CloseOptions, DeleteOptions } from "./sender.ts";

const callNames: OptionNames<CallOptions> = { source: true, writeKey: true };
const deleteNames: OptionNames<DeleteOptions> = { sources: true, timestamp: true };
const closeNames: OptionNames<CloseOptions> = { deadline: true };
const filterNames: OptionNames<DeliveryFilter> = {
  state: true,
  source: true,
  destination: true,
  type: true,
  messageId: true,
  identity: true,
  event: true,
  before: true,
  limit: true,
};

/** @throws TypeError when a call is given an option that does not exist */
export function checkCallOptions(options: CallOptions): void {
  checkOptionNames("The second argument of a call", options, callNames);
}

/** @throws TypeError when `deleteUser()` is given an option that does not exist */
export function checkDeleteOptions(options: DeleteOptions): void {
  checkOptionNames("deleteUser()", options, deleteNames, { source: "it is called sources here, a list" });
}

/** @throws TypeError when `close()` is given an option that does not exist */
export function checkCloseOptions(options: CloseOptions): void {
  checkOptionNames("close()", options, closeNames, { timeout: "it is called deadline here" });
}

/** @throws TypeError when `deliveries()` is given a field that does not exist: it would list what is not meant */
export function checkDeliveryFilter(filter: DeliveryFilter): void {
  const userId = "it is called identity here, and is a userId or an anonymousId";
  const hints = { userId, anonymousId: userId, id: "delivery(id) gives one delivery" };
  checkOptionNames("deliveries()", filter, filterNames, hints);
}
