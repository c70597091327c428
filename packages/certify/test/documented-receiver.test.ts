import { certify } from "@countersign/certify";
import { expect, it } from "vitest";
import { documentedReceiver } from "./support/documented-receiver.ts";
import { SECRET, serve } from "./support/listen.ts";

it("reports exactly the audits that the documented hand-written receiver fails", async () => {
  const receiver = await serve(documentedReceiver(SECRET));
  const report = await certify({ url: receiver.url, secret: SECRET });
  await receiver.close();
  const failed = report.results.filter(({ outcome }) => outcome === "failed");
  expect(failed.map(({ level, id }) => `${level} ${id}`)).toEqual([
    "SHOULD accepts-escapes-as-written",
    "SHOULD accepts-numbers-as-written",
    "SHOULD accepts-upper-case-signature",
    "SHOULD rejects-empty-body",
    "SHOULD answers-415-to-other-media-types",
    "MUST rejects-declared-oversize",
    "MUST rejects-chunked-oversize",
    "MUST survives-deep-nesting",
  ]);
});
