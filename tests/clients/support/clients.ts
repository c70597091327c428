import type { ClientCall } from "./calls.ts";

/** Makes the calls with a published client and resolves when the client says that it has sent them. */
export type RunClient = (url: string, calls: readonly ClientCall[]) => Promise<void>;

type Message = Record<string, unknown>;

/** The published clients for Node.js, with the options that their own documentation gives for another host. */
export const NODE_CLIENTS: Readonly<Record<string, RunClient>> = {
  "@segment/analytics-node 1": async (url, calls) => {
    const { Analytics } = await import("segment-node-1");
    await runWithClosing(new Analytics({ writeKey: "WK", host: url, flushAt: 5 }), calls);
  },
  "@segment/analytics-node 2": async (url, calls) => {
    const { Analytics } = await import("segment-node-2");
    await runWithClosing(new Analytics({ writeKey: "WK", host: url, flushAt: 5 }), calls);
  },
  "@segment/analytics-node 3": async (url, calls) => {
    const { Analytics } = await import("segment-node-3");
    await runWithClosing(new Analytics({ writeKey: "WK", host: url, flushAt: 5 }), calls);
  },
  "@customerio/cdp-analytics-node": async (url, calls) => {
    const { Analytics } = await import("@customerio/cdp-analytics-node");
    await runWithClosing(new Analytics({ writeKey: "WK", host: url, maxEventsInBatch: 5 }), calls);
  },
  "analytics-node (legacy)": async (url, calls) => {
    const { default: Analytics } = await import("analytics-node");
    await runWithCallback(new Analytics("WK", { host: url, flushAt: 5 }), calls);
  },
  "@rudderstack/rudder-sdk-node": async (url, calls) => {
    const { default: Analytics } = await import("@rudderstack/rudder-sdk-node");
    await runWithCallback(new Analytics("WK", { dataPlaneUrl: url, flushAt: 5 }), calls);
  },
};

interface Closing {
  closeAndFlush(options: { timeout: number }): Promise<unknown>;
  on(event: "error", listener: (error: unknown) => void): unknown;
}

async function runWithClosing(client: object, calls: readonly ClientCall[]): Promise<void> {
  const { closing, errors } = { closing: client as Closing, errors: [] as unknown[] };
  closing.on("error", (error) => errors.push(error));
  for (const call of calls) makeCall(client, call);
  await closing.closeAndFlush({ timeout: 20_000 });
  if (errors.length > 0) throw new AggregateError(errors, "The client reported errors.");
}

async function runWithCallback(client: object, calls: readonly ClientCall[]): Promise<void> {
  const done = calls.map(
    (call) =>
      new Promise<void>((resolve, reject) =>
        makeCall(client, call, (error) => (error ? reject(error) : resolve())),
      ),
  );
  await (client as { flush(): unknown }).flush();
  await Promise.all(done);
}

function makeCall(
  client: object,
  { type, timestamp, ...fields }: ClientCall,
  done?: (error?: unknown) => void,
): void {
  // Clients write into the objects that they are given.
  const message: Message = {
    ...structuredClone(fields),
    ...(timestamp !== undefined && { timestamp: new Date(timestamp) }),
  };
  (client as Record<string, (message: Message, done?: (error?: unknown) => void) => void>)[type]?.(
    message,
    done,
  );
}
