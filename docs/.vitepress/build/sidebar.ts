import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { DefaultTheme } from "vitepress";
import { pageOf } from "./repository-links.ts";

type Items = DefaultTheme.SidebarItem[];

/** The pages, in the order in which a reader meets them. What has a folder of its own is listed from it. */
export const sidebar: DefaultTheme.SidebarItem[] = [
  {
    text: "Start",
    items: [
      { text: "Verify, type, test", link: "/start/" },
      { text: "401: why", link: "/guides/401" },
      { text: "Signature bench", link: "/signature-bench" },
    ],
  },
  {
    text: "Guides",
    items: [
      { text: "Rotate the secret", link: "/guides/rotation" },
      { text: "Several tenants", link: "/guides/tenants" },
      { text: "Duplicate deliveries", link: "/guides/idempotency" },
      { text: "Proxies and body parsers", link: "/guides/proxies" },
      { text: "Test a receiver", link: "/guides/testing" },
      { text: "See why a delivery failed", link: "/guides/page" },
      { text: "Check it in CI", link: "/guides/ci" },
      { text: "Run it in a container", link: "/guides/docker" },
      { text: "Run it in Kubernetes", link: "/guides/kubernetes" },
      { text: "Run it as a service", link: "/guides/systemd" },
      { text: "Platforms", link: "/guides/platforms" },
      { text: "On Windows", link: "/guides/windows" },
      { text: "Record events", link: "/guides/client" },
      { text: "Move over", link: "/guides/moving-over" },
      ...pages("docs", { "scaling.md": "Beyond one machine" }),
    ],
  },
  {
    text: "Hosts",
    items: [
      { text: "Next.js", link: "/guides/next" },
      { text: "Hono", link: "/guides/hono" },
      { text: "node:http", link: "/guides/node-http" },
      { text: "PHP, Python, Ruby, Go, Java", link: "/guides/other-languages" },
      { text: "AWS Lambda", link: "/guides/aws-lambda" },
      { text: "Cloudflare Workers", link: "/guides/workers" },
      { text: "Deno and Bun", link: "/guides/deno-and-bun" },
      { text: "React Router", link: "/guides/react-router" },
      { text: "SvelteKit", link: "/guides/sveltekit" },
      { text: "Nuxt and Nitro", link: "/guides/nuxt" },
      { text: "Other frameworks", link: "/guides/other-frameworks" },
      { text: "Google Cloud Functions", link: "/guides/cloud-functions" },
      { text: "Azure Functions", link: "/guides/azure-functions" },
      { text: "Serverless", link: "/guides/serverless" },
    ],
  },
  {
    text: "Packages",
    items: publicPackages().map(({ folder, name }) => ({ text: name, link: `/packages/${folder}/` })),
  },
  {
    text: "Reference",
    items: [
      { text: "Overview", link: "/reference/" },
      { text: "The seven messages", link: "/reference/messages" },
      { text: "The retry schedule", link: "/reference/retries" },
      { text: "The command", link: "/cli" },
      { text: "Commands and options", link: "/reference/commands" },
      ...pages("docs", { "control-api.md": "The control API" }),
      { text: "Operations of the API", link: "/reference/operations" },
      { text: "Ingestion", link: "/ingestion" },
      { text: "Options of every package", link: "/reference/options" },
      { text: "Error codes", link: "/errors/" },
      ...pages("docs/api", { "README.md": "API" }),
    ],
  },
  {
    text: "Behind it",
    items: [
      { text: "Performance", link: "/performance" },
      { text: "Security testing", link: "/security-testing" },
      { text: "Decisions", link: "/adr/" },
    ],
  },
];

/** The pages of a list that exist. */
function pages(folder: string, titles: Readonly<Record<string, string>>): Items {
  return Object.entries(titles)
    .filter(([file]) => existsSync(inRoot(`${folder}/${file}`)))
    .map(([file, text]) => ({ text, link: pageOf(`${folder}/${file}`) ?? "/" }));
}

function publicPackages(): readonly { readonly folder: string; readonly name: string }[] {
  return readdirSync(inRoot("packages")).flatMap((folder) => {
    const { name, private: hidden } = JSON.parse(
      readFileSync(inRoot(`packages/${folder}/package.json`), "utf8"),
    ) as { readonly name: string; readonly private?: boolean };
    return hidden === true ? [] : [{ folder, name }];
  });
}

function inRoot(path: string): URL {
  return new URL(`../../../${path}`, import.meta.url);
}
