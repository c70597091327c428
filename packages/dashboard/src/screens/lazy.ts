import { signal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { messageOf } from "../data/api.ts";
import type { Screen } from "../route/route.ts";

/** The screens beside the list of deliveries. They are loaded after it has been drawn. */
export const others = signal<Readonly<Record<Exclude<Screen, "deliveries">, FunctionComponent>> | undefined>(
  undefined,
);
/** Why they could not be loaded. */
export const loadError = signal("");

/** Loads the other screens, once. */
export function loadOthers(): void {
  if (others.value) return;
  loadError.value = "";
  import("./others.ts").then(
    (module) => {
      others.value = {
        send: module.Send,
        settings: module.Settings,
        faults: module.Faults,
        budget: module.Budget,
        rejected: module.Rejected,
        certify: module.Certify,
        recover: module.Recover,
      };
    },
    (error: unknown) => (loadError.value = messageOf(error)),
  );
}
