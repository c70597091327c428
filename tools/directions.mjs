/** Which packages each package may import (ARCHITECTURE.md, "Directions"). */
export const allowedDirections = {
  protocol: [],
  core: ["protocol"],
  express: ["core", "protocol"],
  fastify: ["core", "protocol"],
  koa: ["core", "protocol"],
  fetch: ["core", "protocol"],
  client: ["protocol"],
  sender: ["core", "protocol"],
  certify: ["core", "protocol"],
  server: ["core", "sender", "protocol"],
  cli: ["core", "sender", "server", "certify", "protocol"],
};
