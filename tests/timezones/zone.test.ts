import { expect, it } from "vitest";
import { canonical, ownZone } from "./zones.ts";

it("the process runs in the time zone of TZ", () => {
  expect(ownZone()).toBe(canonical(process.env["TZ"] ?? ownZone()));
});
