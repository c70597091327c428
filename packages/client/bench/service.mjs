// An ingestion service that reads a batch to its end and answers 200.
import { createServer } from "node:http";

const server = createServer((request, response) => {
  request.resume().on("end", () => response.end('{"success":true}'));
});
server.listen(0, "127.0.0.1", () => process.send(`http://127.0.0.1:${server.address().port}`));
