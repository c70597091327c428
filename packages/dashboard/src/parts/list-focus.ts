let takesFocus = false;

/** Says that the delivery that opens next takes the focus: it was opened by Enter, not passed on the way through the list. */
export function focusNext(): void {
  takesFocus = true;
}

/** Whether the delivery that was just opened takes the focus; asked once. */
export function takeFocus(): boolean {
  const takes = takesFocus;
  takesFocus = false;
  return takes;
}

/** Puts the focus into the list, at the row that was opened, when the list is drawn: on a telephone it was not to be seen. */
export function focusList(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>("#delivery-grid")?.focus());
}
