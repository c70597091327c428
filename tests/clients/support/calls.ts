/** A call as a program makes it, before any client library has touched it. */
export interface ClientCall {
  readonly type: "identify" | "track" | "page" | "screen" | "group" | "alias";
  readonly userId?: string;
  readonly anonymousId?: string;
  readonly previousId?: string;
  readonly groupId?: string;
  readonly event?: string;
  readonly category?: string;
  readonly name?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly traits?: Readonly<Record<string, unknown>>;
  readonly context?: Readonly<Record<string, unknown>>;
  readonly integrations?: Readonly<Record<string, boolean>>;
  readonly timestamp?: string;
}

/** A time long past: an import of old data must keep its dates. */
const JANUARY_2024 = "2024-01-02T03:04:05.678Z";

/**
 * The 14 calls that each client makes. Those with `properties` or `traits` carry their number in `call`, so that each can be
 * found again, whatever order they arrive in; the alias is known by its type. Browser libraries remember who was identified last,
 * which is `u-1`.
 */
export const CALLS: readonly ClientCall[] = [
  { type: "identify", userId: "u-2", timestamp: JANUARY_2024, traits: { call: 0, name: "Grace" } },
  {
    type: "identify",
    userId: "u-1",
    traits: { call: 1, email: "ada@example.com", address: { city: "Zürich", lines: ["a", "b"] }, logins: 3 },
  },
  { type: "track", userId: "u-1", event: "Signed Up", properties: { call: 2 } },
  {
    type: "track",
    userId: "u-1",
    event: "Order Completed",
    properties: {
      call: 3,
      revenue: 41.5,
      tiny: 1e-7,
      negative: -12,
      big: 9_007_199_254_740_991,
      paid: true,
      coupon: null,
      products: [
        { sku: "a-1", tags: [] },
        { sku: "a-2", size: {} },
      ],
    },
  },
  { type: "track", userId: "u-1", event: "Imported", timestamp: JANUARY_2024, properties: { call: 4 } },
  {
    type: "track",
    userId: "u-1",
    event: "With Context",
    properties: { call: 5 },
    context: {
      campaign: { name: "spring", source: "mail" },
      app: { name: "shop", build: "42" },
      active: false,
    },
  },
  {
    type: "track",
    userId: "u-1",
    event: "With Integrations",
    properties: { call: 6 },
    integrations: { All: true, Elsewhere: false },
  },
  {
    type: "track",
    userId: "u-1",
    event: 'Größe \u2028 \u{1F6D2} "quoted" \\ </script>',
    properties: { call: 7, text: "line\nnext\ttab \u0001 é 漢字 \u{1F469}\u200D\u{1F4BB}" },
  },
  { type: "track", userId: "u-1", event: "Long", properties: { call: 8, text: "x".repeat(20_000) } },
  {
    type: "page",
    userId: "u-1",
    category: "Docs",
    name: "Start",
    properties: { call: 9, url: "https://example.com/docs?a=1#b", title: "Start", path: "/docs" },
  },
  { type: "page", userId: "u-1", name: "Home", properties: { call: 10 } },
  { type: "screen", userId: "u-1", name: "Cart", properties: { call: 11, items: 2 } },
  { type: "group", userId: "u-1", groupId: "g-1", traits: { call: 12, name: "Initech", employees: 329 } },
  { type: "alias", userId: "u-1", previousId: "guest-1" },
];
