import type { CountersignServer } from "@countersign/server";
import { openApi, type OpenApi } from "./described-answers.ts";
import { send, type Answer } from "./http.ts";

/** How an operation is called. */
export interface CallSettings {
  readonly at?: CountersignServer;
  readonly headers?: Record<string, string>;
}

/** Calls operations of the control API. After the test, each answer is held to the document that the server gives of itself. */
export function apiCaller(server: () => CountersignServer) {
  async function call(
    method: string,
    path: string,
    body?: unknown,
    { at = server(), headers = {} }: CallSettings = {},
  ): Promise<Answer> {
    return send(`${at.url}/api${path}`, { method, body, headers });
  }

  return { call, documentOf: (): Promise<OpenApi> => openApi() };
}
