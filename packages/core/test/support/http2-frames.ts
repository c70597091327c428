import { Buffer } from "node:buffer";
import { once } from "node:events";
import { connect, type Socket } from "node:net";

// Frames by hand: a client of node:http2 ends its body before it resets a stream without an error.

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const [DATA, HEADERS, RST_STREAM, SETTINGS] = [0, 1, 3, 4];
const [END_STREAM, END_HEADERS] = [1, 4];

/** RFC 9113, 4.1. All but the settings are of the first stream. */
function frame(type: number, flags: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head[8] = type === SETTINGS ? 0 : 1;
  return Buffer.concat([head, payload]);
}

/** RFC 7541, 6.2.2: a literal, which is in no table. Names and values are shorter than 127 bytes. */
function field([name, value]: readonly [string, string]): Buffer {
  return Buffer.from(
    `\0${String.fromCharCode(name.length)}${name}${String.fromCharCode(value.length)}${value}`,
  );
}

/** A POST on a connection of its own: its head and a part of its body. */
export function postFrames(headers: Readonly<Record<string, string>>, part: Uint8Array): Buffer {
  const head = { ":method": "POST", ":scheme": "http", ":authority": "127.0.0.1", ":path": "/", ...headers };
  return Buffer.concat([
    Buffer.from(PREFACE),
    frame(SETTINGS, 0),
    frame(HEADERS, END_HEADERS, Buffer.concat(Object.entries(head).map(field))),
    frame(DATA, 0, part),
  ]);
}

/** A part of the body. */
export const dataFrame = (part: Uint8Array): Buffer => frame(DATA, 0, part);

/** A frame of a type that is not defined, which is ignored (RFC 9113, 5.5). */
export const ignoredFrame = (bytes: number): Buffer => frame(0x20, 0, Buffer.alloc(bytes));

/** The end of the body. */
export const endFrame = (): Buffer => frame(DATA, END_STREAM);

/** The reset of the request, by an error code of HTTP/2. */
export const resetFrame = (code: number): Buffer => frame(RST_STREAM, 0, Buffer.from([0, 0, 0, code]));

/** A connection on which the test writes frames. */
export async function openFrames(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").resume();
  // What a server does to a client that it has refused is no failure of the test.
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}
