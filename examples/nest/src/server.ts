import { NestFactory } from "@nestjs/core";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { AppModule } from "./app.module.ts";

const port = Number(process.env["PORT"] ?? 3000);

// Keys such as "constructor" in the properties are the customer's data: Fastify's parser must not refuse them.
const adapter = new FastifyAdapter({
  onProtoPoisoning: "ignore",
  onConstructorPoisoning: "ignore",
  requestTimeout: 30_000,
});
// rawBody keeps the bytes that the signature covers.
const app = await NestFactory.create(AppModule, adapter, { rawBody: true, logger: ["error", "warn"] });
await app.listen(port, "127.0.0.1");
console.log(`Receiving webhooks at http://127.0.0.1:${port}/webhooks, signed with WEBHOOK_SECRET.`);
