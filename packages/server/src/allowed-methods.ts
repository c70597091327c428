import type { FastifyInstance, onRequestHookHandler } from "fastify";

/** Which methods a path takes; none for a path that is unknown. */
export type AllowedMethods = (url: string) => readonly string[];

/** A route that was added. */
interface Route {
  readonly segments: readonly string[];
  readonly methods: readonly string[];
}

/** Watches which routes are added from now on: the router itself knows only whether a method and a path have one. */
export function watchMethods(app: FastifyInstance): AllowedMethods {
  const routes: Route[] = [];
  const allowedMethods: AllowedMethods = (url) => {
    const segments = segmentsOf(url.split("?", 1)[0] ?? "");
    const found = routes.filter((route) => matches(route.segments, segments));
    // A path that is written out is no value of a parameter: `/deliveries/retry` is not about a delivery called retry.
    const exact = found.filter((route) => !route.segments.some(isParameter));
    const methods = (exact.length > 0 ? exact : found).flatMap((route) => route.methods);
    return [...new Set(methods)].toSorted();
  };
  // The router takes the route with the parameter where the path that is written out does not take the method.
  const refuseOtherMethods: onRequestHookHandler = ({ url, method }, reply, done) => {
    const allowed = allowedMethods(url);
    // None for a path whose letters are encoded, which the router decodes.
    if (allowed.length === 0 || allowed.includes(method)) done();
    else reply.callNotFound();
  };
  app.addHook("onRoute", (route) => {
    const segments = segmentsOf(route.url);
    routes.push({ segments, methods: [route.method].flat() });
    if (segments.some(isParameter)) route.onRequest = [route.onRequest ?? [], refuseOtherMethods].flat();
  });
  return allowedMethods;
}

/** As the router reads a path: a slash more, between or at the end, makes no difference. */
function segmentsOf(path: string): readonly string[] {
  return path.split("/").filter((segment) => segment !== "");
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, index) => isParameter(part) || part === segments[index])
  );
}

function isParameter(part: string): boolean {
  return part.startsWith(":");
}
