import { createContentLoader, type ContentData } from "vitepress";

/** A decision of docs/adr. */
export interface Decision {
  readonly title: string;
  readonly url: string;
}

declare const data: readonly Decision[];
export { data };

export default createContentLoader("docs/adr/0*.md", {
  includeSrc: true,
  transform: (pages: ContentData[]): readonly Decision[] =>
    pages
      .map(({ url, src = "" }) => ({
        title: /^# (.+)$/m.exec(src)?.[1] ?? url,
        url: url.replace(/^\/docs/, ""),
      }))
      .toSorted((a, b) => a.url.localeCompare(b.url)),
});
