/** What takes the focus in place of an element that is gone: the smallest of these that was around it. */
const PLACES = "section, form, fieldset, dialog, main, [role=group]";

/**
 * Keeps the focus from falling back to the start of the page when an update removes or disables the element that has it: the
 * nearest part of the page that is left takes it, so that the keyboard goes on from there.
 */
export function keepFocus(): void {
  let path: readonly Element[] = [];
  addEventListener("focusin", (event) => {
    path = event.composedPath().filter((target) => target instanceof Element);
  });
  const observer = new MutationObserver(() => {
    const [element] = path;
    if (!element || (element.isConnected && !element.matches(":disabled"))) return;
    const { activeElement, body } = document;
    if (activeElement !== element && activeElement !== body) return;
    const place = path.find((other) => other !== element && other.isConnected && other.matches(PLACES));
    path = [];
    if (!(place instanceof HTMLElement)) return;
    place.tabIndex = place.tabIndex < 0 ? -1 : place.tabIndex;
    place.focus({ preventScroll: true });
  });
  const attributeFilter = ["disabled"];
  observer.observe(document.body, { subtree: true, childList: true, attributeFilter });
}
