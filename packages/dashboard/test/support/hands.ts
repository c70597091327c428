import type { Locator, Page } from "playwright-core";
import { expect, vi } from "vitest";
import { openPage, settled } from "./browser.ts";

/** A person at the page who uses one device alone. After each step the focus must be where the step says. */
export interface Hand {
  readonly page: Page;
  /** Presses a button, a link, a checkbox or what opens details; then the focus is on it, or on `lands`. */
  readonly press: (target: Locator, lands?: Locator) => Promise<void>;
  /** Puts text in place of what is in a field. */
  readonly write: (field: Locator, text: string) => Promise<void>;
  /** Chooses an option by its words. */
  readonly choose: (select: Locator, words: string) => Promise<void>;
  /** Puts the pointer over the list, or the focus into it. */
  readonly look: () => Promise<void>;
  /** Opens the first delivery of the list with such words. */
  readonly open: (words: string) => Promise<void>;
  /** Closes the delivery that is shown: the focus is in the list again. */
  readonly close: () => Promise<void>;
}

export const DEVICES = ["mouse", "keyboard"] as const;
export type Device = (typeof DEVICES)[number];

/**
 * Counts what the person does with each device. What a browser makes of Enter is a click, but no press of a mouse's button. After
 * a change of the layout a browser tells of a move that went nowhere, so that what is under the pointer knows it.
 */
const COUNT_EVENTS = `
  globalThis.used = { mouse: 0, keyboard: 0 };
  for (const name of ["pointerdown", "mousedown", "wheel", "touchstart"])
    addEventListener(name, () => (used.mouse += 1), true);
  let place = "0 0";
  addEventListener("pointermove", ({ screenX, screenY }) => {
    if (place !== (place = screenX + " " + screenY)) used.mouse += 1;
  }, true);
  addEventListener("keydown", () => (used.keyboard += 1), true);
`;

const MAX_TABS = 200;

/** Opens a page for someone who uses one device alone. */
export async function openFor(device: Device, url: string, expected?: RegExp): Promise<Hand> {
  const page = await openPage(url, { init: COUNT_EVENTS, ...(expected && { expected }) });
  return device === "mouse" ? withMouse(page) : withKeyboard(page);
}

/** That only the one device was used since the page was opened or loaded. */
export async function expectOnly(device: Device, page: Page): Promise<void> {
  const used = await page.evaluate<Record<Device, number>>("used");
  const other = device === "mouse" ? "keyboard" : "mouse";
  expect(used[device]).toBeGreaterThan(0);
  expect([other, used[other]]).toEqual([other, 0]);
}

/** Waits until an element has the focus. */
export async function expectFocus(target: Locator): Promise<void> {
  const isFocused = (): Promise<string> =>
    target.evaluate((element) => {
      const { activeElement } = element.ownerDocument;
      return element === activeElement ? "" : `the focus is on ${activeElement?.outerHTML.slice(0, 200)}`;
    });
  await vi.waitFor(async () => expect(await isFocused()).toBe(""));
}

/** Waits until no fault is active: what the page says of one is then of the next, and its buttons do something again. */
export async function expectNoFault(page: Page): Promise<void> {
  await page.getByText("None. Attempts are sent as they are.").waitFor();
  await settled(page);
}

function gridOf(page: Page): Locator {
  return page.locator("#delivery-grid");
}

function withMouse(page: Page): Hand {
  return {
    page,
    async press(target, lands = target) {
      await target.click();
      await expectFocus(lands);
    },
    async write(field, text) {
      await field.click();
      // A field is emptied by the keyboard only; a space counts as nothing.
      await field.fill(text === "" ? " " : text);
      await expectFocus(field);
    },
    async choose(select, words) {
      await select.click();
      // The list of options is the system's, not the page's: no event of a mouse reaches it.
      await select.selectOption({ label: words });
    },
    look: () => gridOf(page).hover(),
    async open(words) {
      await page.getByRole("row").filter({ hasText: words }).first().click();
      await expectFocus(gridOf(page));
    },
    async close() {
      await page.getByRole("button", { name: /^Close/ }).click();
      await expectFocus(gridOf(page));
    },
  };
}

function withKeyboard(page: Page): Hand {
  const tabTo = async (target: Locator): Promise<void> => {
    await target.waitFor();
    for (let tabs = 0; tabs < MAX_TABS; tabs += 1) {
      if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`Tab does not reach ${target.toString()}`);
  };
  const hand: Hand = {
    page,
    async press(target, lands = target) {
      await tabTo(target);
      const isCheckbox = await target.evaluate((element) => element.matches("[type=checkbox]"));
      await page.keyboard.press(isCheckbox ? "Space" : "Enter");
      await expectFocus(lands);
    },
    async write(field, text) {
      await tabTo(field);
      await page.keyboard.press("ControlOrMeta+a");
      await page.keyboard.press("Delete");
      await page.keyboard.type(text);
      await expectFocus(field);
    },
    async choose(select, words) {
      await tabTo(select);
      // After a second without a letter, a list takes the next one for the first of an option.
      await vi.waitFor(
        async () => {
          await page.keyboard.type(words);
          expect(await select.locator("option:checked").innerText()).toBe(words);
        },
        { interval: 1_500 },
      );
    },
    look: () => tabTo(gridOf(page)),
    async open(words) {
      await hand.look();
      const row = page.getByRole("row").filter({ hasText: words }).first();
      await row.waitFor();
      await page.keyboard.press("Home");
      for (let rows = 0; rows < MAX_TABS; rows += 1) {
        if (await row.evaluate((element) => element.classList.contains("active"))) break;
        await page.keyboard.press("ArrowDown");
      }
      await page.keyboard.press("Enter");
      await expectFocus(page.locator(".detail h2"));
    },
    async close() {
      await page.keyboard.press("Escape");
      await expectFocus(gridOf(page));
    },
  };
  return hand;
}
