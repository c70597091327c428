/** The one name of a time zone that may have several: Asia/Kolkata is Asia/Calcutta too. */
export function canonical(zone: string): string {
  return new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone;
}

/** The time zone of this process. */
export function ownZone(): string {
  return new Intl.DateTimeFormat("en").resolvedOptions().timeZone;
}
