/** The source of a destination, which is named `<source>/<destination>`: the name of a source has no slash. */
export function sourceOf(destination: string): string {
  return destination.slice(0, Math.max(destination.indexOf("/"), 0));
}
