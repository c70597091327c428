/** What this destination is called in a call's `integrations` (spec section 1, item 4). Case matters. */
const ownName = "Webhooks";

/**
 * Whether a call's `integrations` let it through (spec section 6): on unless it says otherwise; `All: false` turns
 * every destination off but those turned on by name.
 */
export function isSelected(integrations: Readonly<Record<string, unknown>> | null | undefined): boolean {
  if (integrations === null || integrations === undefined) return true;
  // Own properties alone: no name can be inherited.
  const setting: unknown = Object.hasOwn(integrations, ownName) ? integrations[ownName] : undefined;
  if (setting === false) return false;
  // Besides true, clients send an object with a destination's options.
  if (setting === true || (typeof setting === "object" && setting !== null)) return true;
  return integrations["All"] !== false;
}
