import type { FastifyInstance } from "fastify";

/** Which methods a path takes; none for a path that is unknown. */
export type AllowedMethods = (url: string) => readonly string[];

/** Watches which routes are added from now on: the router itself knows only whether a method and a path have one. */
export function watchMethods(app: FastifyInstance): AllowedMethods {
  const routes: { readonly segments: readonly string[]; readonly methods: readonly string[] }[] = [];
  app.addHook("onRoute", ({ url, method }) => {
    routes.push({ segments: segmentsOf(url), methods: [method].flat() });
  });
  return (url) => {
    const segments = segmentsOf(url.split("?", 1)[0] ?? "");
    const methods = routes.flatMap((route) => (matches(route.segments, segments) ? route.methods : []));
    return [...new Set(methods)].toSorted();
  };
}

/** As the router reads a path: a slash more, between or at the end, makes no difference. */
function segmentsOf(path: string): readonly string[] {
  return path.split("/").filter((segment) => segment !== "");
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  return (
    pattern.length === segments.length &&
    pattern.every((part, index) => part.startsWith(":") || part === segments[index])
  );
}
