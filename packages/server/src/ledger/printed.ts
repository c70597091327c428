import { isObject } from "@countersign/protocol";

const MAX_MESSAGE_CHARACTERS = 32_768;

/** A rejected message as JSON, as it is kept. */
export function printed(message: unknown): string {
  try {
    return new Print().of(message);
  } catch {
    // The recursion took the whole stack.
    return "(nested too deeply to print)";
  }
}

/**
 * The JSON of a parsed value, cut. What follows the cut is not looked at: for half a megabyte of small values, that would hold the
 * event loop for a tenth of a second. Write keys are credentials, and are left out; which one it was shows by the source.
 */
class Print {
  #text = "";

  of(value: unknown): string {
    if (value !== undefined) this.#add(value);
    return this.#text.slice(0, MAX_MESSAGE_CHARACTERS);
  }

  get #isFull(): boolean {
    return this.#text.length >= MAX_MESSAGE_CHARACTERS;
  }

  #add(value: unknown): void {
    if (typeof value === "string") this.#addText(value);
    else if (Array.isArray(value)) this.#addItems(value);
    else if (isObject(value)) this.#addFields(value);
    else this.#text += JSON.stringify(value);
  }

  #addText(text: string): void {
    this.#text += JSON.stringify(text.slice(0, MAX_MESSAGE_CHARACTERS));
  }

  #addItems(items: readonly unknown[]): void {
    this.#text += "[";
    for (let index = 0; index < items.length && !this.#isFull; index += 1) {
      if (index > 0) this.#text += ",";
      this.#add(items[index]);
    }
    this.#text += "]";
  }

  #addFields(fields: Readonly<Record<string, unknown>>): void {
    this.#text += "{";
    let separator = "";
    for (const name in fields) {
      if (this.#isFull) break;
      if (name === "writeKey") continue;
      this.#text += separator;
      this.#addText(name);
      this.#text += ":";
      this.#add(fields[name]);
      separator = ",";
    }
    this.#text += "}";
  }
}
