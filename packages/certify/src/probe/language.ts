/** The languages that fixes can be written for. */
export const LANGUAGES = ["node", "python", "java", "php", "go", "ruby"] as const;

/** What a receiver is written in. `node` stands for JavaScript and TypeScript. */
export type Language = (typeof LANGUAGES)[number];
