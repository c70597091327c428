import { expect, it } from "vitest";
import { canonical, ownZone } from "./zones.ts";

it("the process runs in the time zone of TZ", () => {
  const zone = process.env["TZ"];
  expect(zone).toBeDefined();
  expect(ownZone()).toBe(canonical(zone ?? ""));
});
