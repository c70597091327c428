/** The time of day in this place. */
export function clockTime(at: Date | string): string {
  return new Date(at).toTimeString().slice(0, 8);
}
