export { replaceFile } from "./replace-file.ts";
