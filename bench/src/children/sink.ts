// An endpoint that reads each request to its end and answers 200: sink.js [SHARE OF 503] [SILENT PATH]. Sends its port.
// Of the requests it refuses a share with 503, spread evenly. Those to the silent path get no answer. Answers the
// message "count" with how many requests it has answered with 200.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const failureShare = Number(process.argv[2] ?? 0);
const silentPath = process.argv[3];
let [accepted, debt] = [0, 0];

const server = createServer((request, response) => {
  request.resume().on("end", () => {
    if (request.url === silentPath) return;
    debt += failureShare;
    if (debt >= 1) {
      debt -= 1;
      response.writeHead(503).end();
    } else {
      accepted += 1;
      response.end();
    }
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1");
await once(server, "listening");
process.on("message", () => process.send?.(accepted));
process.send?.((server.address() as AddressInfo).port);
