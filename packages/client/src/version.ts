/** The version this library reports in `context.library` and in `User-Agent`; a test compares it with package.json. */
export const VERSION: string = "0.0.0";
