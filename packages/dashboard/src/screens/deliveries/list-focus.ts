/** Whether the delivery that opens next takes the focus: it was opened by Enter, not passed on the way through the list. */
export const takesFocus = { next: false };

/** Puts the focus into the list, at the row that was opened. */
export function focusList(): void {
  document.querySelector<HTMLElement>("#delivery-grid")?.focus();
}
