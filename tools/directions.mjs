/** Which packages each package may import (ARCHITECTURE.md, "Directions"). */
export const allowedDirections = {
  core: [],
  express: ["core"],
  fastify: ["core"],
  koa: ["core"],
  fetch: ["core"],
  client: [],
  sender: ["core"],
  certify: ["core"],
  server: ["core", "sender"],
  cli: ["core", "sender", "server", "certify"],
};
