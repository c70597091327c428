import type { AttemptRequest, AttemptResult, SenderSettings, Transport } from "@countersign/sender";
import type { VirtualClock } from "@countersign/sender/testing";

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

const UP = { outcome: "success", status: 200 } as const;
const DOWN = { outcome: "server_error", status: 503 } as const;

/** What an endpoint answers at a time, by the first label of its host. */
function answerOf(url: string, now: number): Pick<AttemptResult, "outcome" | "status" | "retryAfter"> {
  const day = Math.floor(now / DAY_MS);
  const hour = Math.floor(now / HOUR_MS) % 24;
  switch (new URL(url).hostname.split(".")[0]) {
    case "hours":
      // Over midnight: what was accepted before it is delivered after it.
      return Math.floor((now + 3 * HOUR_MS) / DAY_MS) % 3 === 0 && (hour >= 21 || hour < 1) ? DOWN : UP;
    case "days":
      return day % 20 < 3 ? { outcome: "network" } : UP;
    case "dead":
      return DOWN;
    case "gone":
      return { outcome: "rejected", status: 410 };
    case "later":
      return hour === 15 ? { ...DOWN, retryAfter: "1800" } : UP;
    case "slow":
      return hour === 0 && day % 2 === 0 ? { outcome: "timeout" } : UP;
    default:
      return UP;
  }
}

/** Endpoints that fail for hours, for days, for ever and finally, without a network. */
export function endpointsAt(clock: VirtualClock): Transport {
  return {
    send: async ({ url }: AttemptRequest): Promise<AttemptResult> => ({
      ...answerOf(url, clock.now()),
      responseBody: Buffer.from("ok"),
      responseHeaders: { server: "x" },
      durationMs: 5,
    }),
    close: () => Promise.resolve(),
  };
}

/** The settings of a day: secrets rotate, endpoints move, destinations are disabled and removed, sources come and go. */
export function settingsOf(day: number): SenderSettings {
  const week = Math.floor(day / 7);
  const to = (name: string, ...kinds: string[]) => ({
    name,
    secret: `secret-${week}`,
    endpoints: kinds.map((kind) => ({ url: `https://${kind}.example/v${Math.floor(week / 4)}` })),
  });
  const shop = [
    to("crm", "up"),
    to("mail", "hours", "gone"),
    to("ads", "days"),
    { ...to("weekly", "later"), enabled: week % 2 === 0 },
    to("dead", "dead"),
    // Removed, and disabled for ever, while deliveries wait for them.
    ...(day < 40 ? [to("old", "dead")] : []),
    { ...to("stopped", "dead"), enabled: day < 20 },
  ];
  return {
    sources: [
      { name: "shop", destinations: shop, blockedEvents: ["Heartbeat"] },
      { name: "app", destinations: [to("gone", "gone"), to("slow", "slow", "up")] },
      { name: `season-${Math.floor(week / 3)}`, destinations: [to("crm", "hours")] },
    ],
  };
}
