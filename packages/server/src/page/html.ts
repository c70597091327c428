/** Markup that is safe to insert as it is. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** What can be put into markup. */
export type HtmlValue = Html | string | number | undefined | readonly HtmlValue[];

/** Builds markup: every value is escaped, except markup itself and lists of it. For text and quoted attributes. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  const filled = parts.map((part, index) => (index < values.length ? part + escaped(values[index]) : part));
  return new Html(filled.join(""));
}

function escaped(value: HtmlValue): string {
  if (value instanceof Html) return value.markup;
  if (typeof value === "object") return value.map(escaped).join("");
  return String(value ?? "").replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
