import { webhookHandler } from "@countersign/fetch";
import { Hono } from "hono";

/** What the app is started with: `env` in a Worker, the environment elsewhere. */
export interface Settings {
  /** The secret of `/webhooks`. */
  readonly WEBHOOK_SECRET: string;
  /** The secrets of `/tenants/:tenant/webhooks`, as JSON: `{"acme":"a secret"}`. */
  readonly TENANT_SECRETS?: string | undefined;
}

/**
 * One route with the app's own secret, and one for tenants that each have theirs. Nothing in it depends on Node.
 *
 * @param log - Is given one line for each message, and for each request that is refused.
 */
export function createApp(log: (line: string) => void): Hono<{ Bindings: Settings }> {
  const receive = webhookHandler<[settings: Settings, tenant: string]>(
    {
      secret: (_request, settings, tenant) => secretOf(settings, tenant),
      // The hint is for whoever runs the app, and never sent.
      onRejected: ({ code, hint }) => log(`refused: ${code}. ${hint}`),
    },
    ({ message }, _request, _settings, tenant) => {
      log(`${tenant || "app"}: ${message.type} of ${message.userId ?? "someone unknown"}`);
      return new Response(null, { status: 204 });
    },
  );

  const app = new Hono<{ Bindings: Settings }>();
  app.all("/webhooks", (c) => receive(c.req.raw, c.env, ""));
  app.all("/tenants/:tenant/webhooks", (c) => receive(c.req.raw, c.env, c.req.param("tenant")));
  return app;
}

function secretOf({ WEBHOOK_SECRET, TENANT_SECRETS = "{}" }: Settings, tenant: string): string | undefined {
  if (tenant === "") return WEBHOOK_SECRET;
  return new Map<string, string>(Object.entries(JSON.parse(TENANT_SECRETS))).get(tenant);
}
