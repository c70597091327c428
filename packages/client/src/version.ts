/** The version this library reports in `context.library` and in `User-Agent`; a test holds it to package.json. */
export const VERSION: string = "0.0.0";
