/**
 * The fields in which a repeat may differ from the message that it repeats: a client that sends its queue again stamps it
 * again and adds what it has learned about the device.
 */
const VARIABLE_FIELDS: ReadonlySet<string> = new Set([
  "version",
  "context",
  "integrations",
  "timestamp",
  "receivedAt",
  "sentAt",
  "originalTimestamp",
]);

/** Whether a message and its repeats have the same in a field. A message that differs in it is another message. */
export function isSharedByRepeats(field: string): boolean {
  return !VARIABLE_FIELDS.has(field);
}

/**
 * The content that a message shares with its repeats, as JSON: everything except its times and its context. A message that
 * differs in it is another message, even if it has the same `messageId`.
 *
 * @param message - A message or a call.
 * @returns undefined where the message is nested too deep to be written.
 */
export function repeatContent(message: object): string | undefined {
  try {
    return JSON.stringify(Object.entries(message).filter(([name]) => isSharedByRepeats(name)));
  } catch {
    return undefined;
  }
}
