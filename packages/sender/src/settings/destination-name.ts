/**
 * The name of a destination that is given none.
 *
 * @param index Its position in its source, from 0.
 * @example
 * ```ts
 * defaultDestinationName(0); // webhooks
 * defaultDestinationName(1); // webhooks-2
 * ```
 */
export function defaultDestinationName(index: number): string {
  return index === 0 ? "webhooks" : `webhooks-${index + 1}`;
}
