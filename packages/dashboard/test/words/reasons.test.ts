import { expect, it } from "vitest";
import { reasonsOf } from "../../src/screens/reasons.ts";
import type { AttemptSummary, DeliverySummary } from "../../src/shapes/types.ts";

function ended(last: Pick<AttemptSummary, "outcome" | "answer" | "status">): DeliverySummary {
  return { destination: "shop/webhooks", last } as DeliverySummary;
}

it("resending one reason does not resend the deliveries of another", () => {
  const reasons = reasonsOf({
    deliveries: [
      ended({ outcome: "rejected", answer: "422", status: 422 }),
      ended({ outcome: "network", answer: "nothing listens there" }),
      ended({ outcome: "network", answer: "closed the connection" }),
    ],
  });
  // Their codes differ, but one filter finds both: they are resent together, so they are shown together.
  expect(reasons).toEqual([
    {
      destination: "shop/webhooks",
      words: "nothing listens there, closed the connection",
      filter: { outcome: "network" },
      number: 2,
    },
    { destination: "shop/webhooks", words: "422", filter: { status: "422" }, number: 1 },
  ]);
});
