import { webhookHandler } from "@countersign/fetch";
import { Hono } from "hono";

/** What the app is started with: `env` in a Worker, the environment elsewhere. */
export interface Settings {
  /** The secret of `/webhooks`. */
  readonly WEBHOOK_SECRET?: string | undefined;
  /** The secrets of `/tenants/:tenant/webhooks`, as JSON: `{"acme":"a secret"}`. */
  readonly TENANT_SECRETS?: string | undefined;
}

/** What the routes pass to the webhook handler besides the request. */
interface WebhookContext {
  readonly settings: Settings;
  readonly tenant?: string;
}

/**
 * One route with the app's own secret, and one for tenants with a secret each. Nothing in it depends on Node.
 *
 * @param log - Is given one line for each message, and for each request that is refused.
 */
export function createApp(log: (line: string) => void): Hono<{ Bindings: Settings }> {
  const receive = webhookHandler<WebhookContext>(
    {
      secret: (_request, context) => secretOf(context),
      // The hint is for the operator of the app. It is never sent.
      onRejected: ({ code, hint }) => log(`refused: ${code}. ${hint}`),
    },
    ({ message }, _request, { tenant = "app" }) => {
      log(`${tenant}: ${message.type} of ${message.userId ?? "someone unknown"}`);
      return new Response(null, { status: 204 });
    },
  );

  const app = new Hono<{ Bindings: Settings }>();
  app.all("/webhooks", (c) => receive(c.req.raw, { settings: c.env }));
  app.all("/tenants/:tenant/webhooks", (c) =>
    receive(c.req.raw, { settings: c.env, tenant: c.req.param("tenant") }),
  );
  return app;
}

function secretOf({ settings, tenant }: WebhookContext): string | undefined {
  const { WEBHOOK_SECRET, TENANT_SECRETS = "{}" } = settings;
  if (tenant === undefined) {
    // Answered 500, so that the sender sends the message again. A 401 would be final.
    if (!WEBHOOK_SECRET) throw new Error("WEBHOOK_SECRET is not set");
    return WEBHOOK_SECRET;
  }
  return new Map<string, string>(Object.entries(JSON.parse(TENANT_SECRETS))).get(tenant);
}
