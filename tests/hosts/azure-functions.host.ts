import { certifyHost } from "./support/certify-host.ts";
import { loadModule, serveFetch } from "./support/in-process.ts";

interface AzureResponse {
  readonly status: number;
  readonly headers: [string, string][];
  readonly body: string;
}

interface FunctionModule {
  readonly webhooks: (request: Request) => Promise<AzureResponse>;
}

certifyHost("Azure Functions", {
  page: "docs/guides/azure-functions.md",
  managers: ["pnpm"],
  // The platform reads the whole body before the function runs.
  failing: ["rejects-declared-oversize", "rejects-chunked-oversize"],
  async start(project, port) {
    const { webhooks } = await loadModule<FunctionModule>(project, "src/functions/webhooks.js");
    // The host's request has the same members that the page uses.
    return serveFetch(async (request) => {
      if (request.method !== "POST") return new Response(null, { status: 405 });
      const { body, ...init } = await webhooks(request);
      return new Response(body === "" ? null : body, init);
    }, port);
  },
});
