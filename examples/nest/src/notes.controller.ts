import { Body, Controller, Post } from "@nestjs/common";

/** An ordinary JSON route beside the webhooks. */
@Controller("notes")
export class NotesController {
  @Post()
  note(@Body() body: object): { noted: object } {
    return { noted: body };
  }
}
