/** Parameters of a URL. A list is the parameter repeated; what is empty or undefined is left out. */
export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** A path with its parameters. */
export function withQuery(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of [value].flat())
      if (item !== undefined && item !== "") parameters.append(name, `${item}`);
  }
  return parameters.size > 0 ? `${path}?${parameters}` : path;
}
