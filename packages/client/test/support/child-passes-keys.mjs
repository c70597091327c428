// Records two calls through a beforeSend that changes nothing, and prints the body of the request.
import { Analytics } from "@countersign/client";

const PROPERTIES = { total: 1, 'caf"': 2, nested: [{ "\n": "\n" }] };
const transport = {
  async send({ body }) {
    process.stdout.write(body);
    return { status: 200, headers: new Headers(), body: '{"success":true}' };
  },
};
const analytics = new Analytics("KEY", { transport, beforeSend: (message) => message });
analytics.track({ userId: "u1", event: "Plain", properties: PROPERTIES });
analytics.track({ userId: "u1", event: "Written", properties: { toJSON: () => PROPERTIES } });
await analytics.close();
