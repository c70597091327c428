import { clearTimeout, setTimeout } from "node:timers";
import type { Socket } from "node:net";
import type { Proxy } from "./proxy.ts";
import { connectionMessageOf, TransportError } from "./transport-error.ts";

/** More is not read of the heads of a proxy's answers, in bytes. */
const MAX_HEAD_BYTES = 16_384;

/** What holds for each step towards a connection. */
export interface StepOptions {
  /** Milliseconds after which it is cancelled. */
  readonly connectTimeoutMs: number;
  /** Sockets that cannot be used yet, so that closing can drop them. */
  readonly pending: Set<Socket>;
}

/**
 * Asks a proxy for a tunnel (RFC 9110, section 9.3.6).
 *
 * @param socket Is connected to the proxy. Afterwards it leads to the endpoint.
 * @param authority Host and port of the endpoint.
 * @param callback Called once; with the error if there is no tunnel.
 */
export function openTunnel(
  socket: Socket,
  proxy: Proxy,
  authority: string,
  { connectTimeoutMs, pending }: StepOptions,
  callback: (error: Error | null) => void,
): void {
  let received = "";
  const settle = (error: Error | null): void => {
    clearTimeout(timer);
    pending.delete(socket);
    socket.off("readable", onReadable).off("error", onError).off("close", onClose);
    // The proxy may leave its connection open.
    if (error !== null) socket.on("error", () => {}).destroy();
    callback(error);
  };
  const onReadable = (): void => {
    for (let chunk: Buffer | null; (chunk = socket.read() as Buffer | null) !== null;)
      received += chunk.toString("latin1");
    const answer = answerIn(received);
    if (answer instanceof Error) settle(proxyUnusable(proxy, answer));
    else if (answer !== undefined) settle(refusalOf(answer, proxy, authority));
  };
  const onError = (error: Error): void => settle(proxyUnusable(proxy, error));
  const onClose = (): void =>
    onError(new Error(`it closed the connection before its answer to CONNECT ${authority}`));
  const timer = setTimeout(() => {
    onError(new Error(`no answer to CONNECT ${authority} within ${connectTimeoutMs} ms`));
  }, connectTimeoutMs);
  pending.add(socket);
  socket.on("readable", onReadable).once("error", onError).once("close", onClose);
  const { authorization } = proxy;
  const credentials = authorization === undefined ? "" : `Proxy-Authorization: ${authorization}\r\n`;
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credentials}\r\n`);
}

/** The final answer of a proxy. */
interface Answer {
  readonly status: number;
  /** Status and reason, as in its first line. */
  readonly said: string;
  /** Whether more than its head has come. */
  readonly isLonger: boolean;
}

const HEAD = /^HTTP\/1\.\d (\d{3})(?: ([^\r\n]*))?\r?\n(?:[^\r\n]+\r?\n)*\r?\n/u;
const BEGINNING = "HTTP/1.";

/**
 * The final answer in what a proxy has sent; `undefined` if it is not complete. Others may come before it: 100 or 103, from a proxy in
 * front of the proxy.
 */
function answerIn(received: string): Answer | Error | undefined {
  for (let rest = received; ;) {
    const [head, digits, reason = ""] = HEAD.exec(rest) ?? [];
    if (head === undefined) {
      if (!BEGINNING.startsWith(rest.slice(0, BEGINNING.length)))
        return new Error("it answered something that is not HTTP");
      return received.length > MAX_HEAD_BYTES ? new Error("its answer has no end") : undefined;
    }
    const status = Number(digits);
    rest = rest.slice(head.length);
    // 101 is an answer to a question that was not asked.
    if (status >= 200 || status === 101)
      return { status, said: `${digits} ${reason}`.trim(), isLonger: rest !== "" };
  }
}

function refusalOf({ status, said, isLonger }: Answer, proxy: Proxy, authority: string): Error | null {
  if (status < 200 || status >= 300) return proxyError(proxy, `answered ${said} to CONNECT ${authority}`);
  // Nobody speaks before the sender does. The HTTP client would take it for a broken connection, and open another one at once, on
  // and on until the attempt ends.
  return isLonger ? proxyError(proxy, `sent more than its answer to CONNECT ${authority}`) : null;
}

/** What keeps a connection from its proxy. It is tried again, unlike a certificate of the endpoint that is not accepted. */
export function proxyUnusable(proxy: Proxy, cause: Error): TransportError {
  return proxyError(proxy, `cannot be used: ${connectionMessageOf(cause)}`, { cause });
}

function proxyError({ name }: Proxy, what: string, options?: ErrorOptions): TransportError {
  return new TransportError("ERR_PROXY", `the proxy ${name} ${what}`, options);
}
