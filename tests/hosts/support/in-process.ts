import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createAdaptorServer } from "@hono/node-server";
import type { Project } from "./project.ts";
import type { Running } from "./run.ts";

/** Compiles a project and loads one of its modules, which a platform would load. */
export async function loadModule<T>(project: Project, file: string): Promise<T> {
  await project.compile();
  return (await import(pathToFileURL(join(project.folder, file)).href)) as T;
}

/** Serves requests in this process: stands for a platform that cannot be installed here. */
export async function serve(listener: RequestListener, port: number): Promise<Running> {
  const server = createServer(listener).listen(port, "localhost");
  await once(server, "listening");
  return {
    printed: () => "",
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The same for a function from a web-standard `Request` to a `Response`. */
export function serveFetch(handle: (request: Request) => Promise<Response>, port: number): Promise<Running> {
  const server = createAdaptorServer({ fetch: handle });
  return serve((request, response) => void server.emit("request", request, response), port);
}
