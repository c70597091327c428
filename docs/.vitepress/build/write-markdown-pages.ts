import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { SiteConfig } from "vitepress";

/** Writes each page as Markdown beside its HTML, and `llms.txt`, which lists them. */
export async function writeMarkdownPages({
  pages,
  srcDir,
  outDir,
  rewrites,
  site,
}: SiteConfig): Promise<void> {
  const listed: string[] = [];
  for (const page of pages) {
    const path = rewrites.map[page] ?? page;
    // A page that a loader made has no file; its HTML is all there is.
    const text = await readFile(join(srcDir, page), "utf8").catch(() => undefined);
    if (text === undefined) continue;
    await mkdir(dirname(join(outDir, path)), { recursive: true });
    await writeFile(join(outDir, path), text);
    listed.push(`- [${titleOf(text) ?? path}](/${path})`);
  }
  const lines = [`# ${site.title}`, "", `> ${site.description}`, "", ...listed.toSorted()];
  await writeFile(join(outDir, "llms.txt"), `${lines.join("\n")}\n`);
}

function titleOf(text: string): string | undefined {
  return /^# (.+)$/m.exec(text)?.[1] ?? /^title: (.+)$/m.exec(text)?.[1];
}
