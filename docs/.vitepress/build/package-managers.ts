import type { MarkdownRenderer } from "vitepress";
import { commandsFor, MANAGERS } from "./commands-for.ts";

/** Shows a block of `npm` commands for each package manager; the page's choice says which one is visible. */
export function packageManagers(md: MarkdownRenderer): void {
  const renderFence = md.renderer.rules.fence;
  if (renderFence === undefined) throw new Error("The Markdown renderer has no rule for fenced code.");
  md.renderer.rules.fence = (tokens, index, options, env, self) => {
    const token = tokens[index];
    if (token === undefined) return "";
    const render = (content: string): string => {
      token.content = content;
      return renderFence(tokens, index, options, env, self);
    };
    const { content, info } = token;
    if (!/^(sh|console)\b/.test(info) || !/^(npm install|npx) /m.test(content)) return render(content);
    const blocks = MANAGERS.map(
      (manager) =>
        `<div class="only" data-manager="${manager}">${render(commandsFor(manager, content))}</div>`,
    );
    token.content = content;
    return blocks.join("");
  };
}
