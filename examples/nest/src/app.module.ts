import { CountersignModule } from "@countersign/nestjs";
import { Module } from "@nestjs/common";
import { NotesController } from "./notes.controller.ts";
import { WebhooksController } from "./webhooks.controller.ts";
import { WebhooksService } from "./webhooks.service.ts";

/** The module with the receiver, the verified controller and an ordinary one. */
@Module({
  imports: [
    CountersignModule.register({
      secret: process.env["WEBHOOK_SECRET"] ?? "dev",
      onRejected: ({ code, hint }) => console.warn(code, hint),
    }),
  ],
  controllers: [WebhooksController, NotesController],
  providers: [WebhooksService],
})
export class AppModule {}
