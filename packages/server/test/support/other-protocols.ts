/** How load balancers begin what is not HTTP/1.1, and a part of what is said of it. */
export const OTHER_PROTOCOLS: readonly (readonly [name: string, header: string | Buffer, advice: string])[] =
  [
    ["the PROXY protocol", "PROXY TCP4 192.0.2.1 192.0.2.2 56324 4010\r\n", "leave out send-proxy"],
    [
      "version 2 of the PROXY protocol",
      Buffer.from("0d0a0d0a000d0a515549540a2111000cc0000201c0000202dc040faa", "hex"),
      "leave out send-proxy",
    ],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "leave out proto h2"],
  ];
