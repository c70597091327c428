// A client of the ingestion API: poster.js URL. Asked to post so many batches of so many calls, it does, eight at a
// time, and answers when the last has been answered with 200.
import { Pool } from "undici";

interface Wanted {
  readonly batches: number;
  readonly size: number;
}

const url = process.argv[2] ?? "";
const pool = new Pool(url, { connections: 8 });
let ids = 0;

function callOf(): object {
  ids += 1;
  return {
    type: "track",
    messageId: `poster-${ids}`,
    userId: `user-${ids}`,
    event: "Order Completed",
    properties: {
      orderId: `order-${ids}`,
      total: 129.5,
      currency: "EUR",
      items: [
        { sku: "sku-1", price: 99.5, quantity: 1, name: "Something that was bought" },
        { sku: "sku-2", price: 15, quantity: 2, name: "Something else that was bought" },
      ],
      note: "x".repeat(80),
    },
    timestamp: new Date().toISOString(),
  };
}

async function post(size: number): Promise<void> {
  const batch = Array.from({ length: size }, callOf);
  const body = JSON.stringify({ writeKey: "bench", batch, sentAt: new Date().toISOString() });
  const headers = { "content-type": "application/json" };
  const response = await pool.request({ method: "POST", path: "/v1/batch", headers, body });
  const text = await response.body.text();
  if (response.statusCode !== 200) throw new Error(`The server answered ${response.statusCode}: ${text}`);
}

async function postAll({ batches, size }: Wanted): Promise<void> {
  let begun = 0;
  const strand = async (): Promise<void> => {
    while (begun < batches) {
      begun += 1;
      await post(size);
    }
  };
  await Promise.all(Array.from({ length: 8 }, strand));
  process.send?.("posted");
}

process.on("message", (wanted: Wanted) => void postAll(wanted));
process.send?.("ready");
