/** The languages that fixes can be written for. */
export const LANGUAGES = ["node", "python", "java", "php", "go", "ruby"] as const;

/** The language of a receiver. `node` means JavaScript and TypeScript. */
export type Language = (typeof LANGUAGES)[number];
