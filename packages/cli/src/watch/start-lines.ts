import { isEveryAddress } from "@countersign/protocol";
import { noAnswer } from "@countersign/sender/explain";
import {
  destinationsWithoutSettings,
  namedDestinations,
  withoutSettingsLine,
  type CountersignServer,
  type ServerOptions,
} from "@countersign/server";
import type { SourceSettings } from "@countersign/sender";
import type { ServeTls } from "../tls/serve-tls.ts";
import { jsonLine, printable, type Terminal } from "../terminal/terminal.ts";

/** What a server says about itself when it starts. */
export interface StartInfo {
  readonly server: CountersignServer;
  readonly options: ServerOptions;
  /** Where deliveries are kept; undefined for in memory. */
  readonly kept: string | undefined;
  readonly configFile: string | undefined;
  readonly trust: ServeTls["trust"] | undefined;
  /** Whether there are keys to press. */
  readonly keys: boolean;
}

/** The address of the page; with the token, so that the browser is let in. */
export function pageUrlOf(url: string, token: string | undefined): string {
  return token === undefined ? `${url}/` : `${url}/?token=${encodeURIComponent(token)}`;
}

/** The start, as one JSON line. */
export function startJson({ server: { url, sender }, kept, configFile, trust }: StartInfo): string {
  return jsonLine({
    event: "listening",
    url,
    data: kept ?? null,
    config: configFile ?? null,
    ...(trust && { trust }),
    sources: sender.settings.sources.map(({ name }) => name),
  });
}

/** Where it listens: the first line, also with `--quiet`. */
export function listensLine({ url }: CountersignServer, colors: Terminal["colors"]): string {
  return `${colors.bold("countersign")} listens on ${url}`;
}

/** The other lines: where messages go and whether a receiver listens, what is kept, and what to do next. */
export async function startLines(
  info: StartInfo,
  { colors, stdout }: Pick<Terminal, "colors" | "stdout">,
): Promise<readonly string[]> {
  const { server, options, kept, configFile, trust, keys } = info;
  const { url } = server;
  const { sources } = server.sender.settings;
  const anyKey = options.to !== undefined && options.writeKey === undefined;
  const { record, token, deliver } = options;
  // The token is a password: it goes to a screen, and never to a log.
  const page = stdout.isTTY ? pageUrlOf(url, token) : `${url}/${token === undefined ? "" : "?token=TOKEN"}`;
  return [
    ...sources.flatMap(routes),
    ...proxyLine(options),
    ...(deliver === false ? [ONLY_ACCEPTS] : await receiverLines(server, colors)),
    ...(await destinationsWithoutSettings(server.sender)).map(
      (destination) => `Waiting     ${printable(withoutSettingsLine(destination))}`,
    ),
    `Kept in     ${kept === undefined ? "memory; --data DIR keeps deliveries across restarts" : printable(kept)}`,
    ...(record === undefined ? [] : [`Recorded in ${printable(record)}`]),
    ...(configFile === undefined ? [] : [`Set up by   ${printable(configFile)}`]),
    ...timeLines(options, keys),
    `Clients     take ${url} as their host, and ${anyKey ? "any write key" : "the write key of a source"}`,
    ...(isEveryAddress(options.host ?? "") ? [ELSEWHERE] : []),
    `Look at     ${page} for deliveries, ${url}/api/openapi.json for the control API`,
    ...(keys ? ["Keys        h + Enter shows them"] : []),
    `Try it      ${tryIt(info, anyKey, stdout.isTTY)}\n`,
    ...(trust ? trustLines(url, trust) : []),
  ];
}

/** Whether this machine reaches the receivers does not matter then. */
const ONLY_ACCEPTS =
  "Delivers    nothing; countersign work on the same store does, and servers without --no-deliver";

const ELSEWHERE = "            on other machines, with the name or the address of this machine in it";

/** A command that can be pasted as it is, and sends a first message. */
function tryIt({ server, options }: StartInfo, anyKey: boolean, isScreen: boolean): string {
  const { url, sender } = server;
  const { sources } = sender.settings;
  const call = { userId: "u1", event: "Hello" };
  // Where a source has no write key of its own, its name is one, which is no secret.
  const open = sources.find(({ writeKey }) => writeKey === undefined);
  // A given key goes to a screen, as the token does, and never to a log.
  const writeKey = anyKey ? "any" : (open?.name ?? (isScreen ? sources[0]?.writeKey : undefined));
  if (writeKey !== undefined) return `curl -d ${shellWord(jsonLine({ writeKey, ...call }))} ${url}/v1/track`;
  const token = options.token === undefined ? "" : ` -H "Authorization: Bearer $COUNTERSIGN_TOKEN"`;
  const message = shellWord(jsonLine({ type: "track", ...call }));
  const where = `${url}/api/messages?source=${encodeURIComponent(sources[0]?.name ?? "")}`;
  return `curl${token} -H 'Content-Type: application/json' -d ${message} ${shellWord(where)}`;
}

/** Whether the receivers answer is not known then. Without the credentials in the URL: the line may go to a log. */
function proxyLine({ proxy, noProxy, deliver }: ServerOptions): readonly string[] {
  if (proxy === undefined || deliver === false) return [];
  const { protocol, host } = new URL(proxy);
  const others = noProxy === undefined ? "" : " and what noProxy names";
  return [`Through     the proxy ${protocol}//${host}, except this machine${others}`];
}

function timeLines({ clock }: ServerOptions, keys: boolean): readonly string[] {
  if (clock === undefined || !("advance" in clock)) return [];
  const how = keys ? "a + Enter, or POST /api/clock" : "POST /api/clock";
  return [`Time        is virtual; retries wait until you advance it: ${how}`];
}

function routes(source: SourceSettings): readonly string[] {
  return namedDestinations(source).map(({ name, endpoints, secret, enabled = true }) => {
    const urls = endpoints.map(({ url }) => url).join(", ");
    const how = `${secret === undefined ? "not signed" : "signed"}${enabled ? "" : ", disabled"}`;
    return `Forwards    ${printable(`${source.name}/${name} to ${urls}`)} (${how})`;
  });
}

interface Reached {
  readonly url: string;
  readonly reachable: boolean;
  readonly code?: string;
}

/** How long the start waits for receivers to answer, in milliseconds. */
const PATIENCE_MS = 1_000;

/** Whether a receiver listens at each endpoint. No message is sent. */
async function receiverLines(
  server: CountersignServer,
  colors: Terminal["colors"],
): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), PATIENCE_MS);
  });
  const answer = await Promise.race([server.control("GET", "/reachability"), late]).finally(() =>
    clearTimeout(timer),
  );
  // Where private networks are blocked, nothing is called to find out.
  if (answer !== undefined && answer.status !== 200) return [];
  if (answer === undefined) return [`Receiver    ${colors.yellow("does not answer yet")}`];
  const seen = new Map(
    (answer.body as readonly Reached[]).map((reached) => [new URL(reached.url).host, reached]),
  );
  return [...seen].map(([host, { reachable, code }]) => {
    if (reachable) return `Receiver    ${colors.green(`${host} answers`)}`;
    const { words, fix } = noAnswer(code, "network");
    return `Receiver    ${colors.yellow(`${printable(host)} ${words}.`)} ${fix} Messages wait for it.`;
  });
}

/** How a client trusts a certificate that was created by this command. */
function trustLines(url: string, { file, fingerprint }: NonNullable<ServeTls["trust"]>): readonly string[] {
  const word = shellWord(file);
  return [
    `Trust       ${file}`,
    `            SHA-256 ${fingerprint}`,
    `  Node.js   NODE_EXTRA_CA_CERTS=${word}`,
    `  others    SSL_CERT_FILE=${word} (PHP and Ruby with OpenSSL, Go); REQUESTS_CA_BUNDLE=${word} (Python)`,
    `  curl      curl --cacert ${word} ${url}/v1/track\n`,
  ];
}

/** A text as one word of a shell, plain where it can be. */
function shellWord(path: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
