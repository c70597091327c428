// A receiver on node:http that needs nothing else. MISTAKE names the one thing that is wrong with it.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const MAX_BYTES = 1_048_576;
const mistake = process.env.MISTAKE;
const secret = mistake === "other-secret" ? "the secret of last year" : process.env.SECRET;

const server = createServer((request, response) => void receive(request, response));

async function receive(request, response) {
  const answer = (status, headers = {}) => response.writeHead(status, headers).end();
  if (request.method !== "POST") return answer(405, { Allow: "POST" });
  if (Number(request.headers["content-length"]) > MAX_BYTES) return answer(413, { Connection: "close" });
  const chunks = [];
  let size = 0;
  try {
    for await (const chunk of request) {
      size += chunk.length;
      if (size > MAX_BYTES) return answer(413, { Connection: "close" });
      chunks.push(chunk);
    }
  } catch {
    return response.destroy();
  }
  const body = Buffer.concat(chunks);
  if (!isAuthentic(body, request.headers["x-signature"])) return answer(401);
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return answer(400);
  }
  if (mistake === "slow") await new Promise((resolve) => setTimeout(resolve, 6_000));
  return answer(204);
}

function isAuthentic(body, signature) {
  const digest = createHmac("sha1", secret).update(body).digest();
  if (mistake === "optional-signature" && signature === undefined) return true;
  if (mistake === "leading-zeros") {
    return signature === [...digest].map((byte) => byte.toString(16)).join("");
  }
  if (!/^[0-9a-f]{40}$/i.test(signature ?? "")) return false;
  return timingSafeEqual(digest, Buffer.from(signature, "hex"));
}

server.listen(Number(process.env.PORT), "127.0.0.1");
