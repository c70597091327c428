/** How much is kept of the headers of a request or a response, in characters of names and values (8 KiB). */
const MAX_HEADER_CHARACTERS = 8_192;

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The headers as an attempt keeps them: several of one name are joined, and those that do not fit are left out. */
export function keptHeaders(headers: Headers): Readonly<Record<string, string>> {
  if (isKeptAsItIs(headers)) return headers;
  const kept: [name: string, value: string][] = [];
  let room = MAX_HEADER_CHARACTERS;
  for (const [name, given = ""] of Object.entries(headers)) {
    const value = typeof given === "string" ? given : given.join(", ");
    const size = name.length + value.length;
    if (size > room) continue;
    room -= size;
    kept.push([name, value]);
  }
  return Object.fromEntries(kept);
}

/** Whether there is nothing to join and nothing to leave out: of almost all headers. */
function isKeptAsItIs(headers: Headers): headers is Readonly<Record<string, string>> {
  let size = 0;
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (typeof value !== "string") return false;
    size += name.length + value.length;
  }
  return size <= MAX_HEADER_CHARACTERS;
}
