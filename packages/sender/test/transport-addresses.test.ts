import type { LookupAddress, LookupOptions } from "node:dns";
import { BlockList, isIPv4, type LookupFunction } from "node:net";
import { promisify } from "node:util";
import * as fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { refusedAddress } from "../dist/transport/address-policy.js";
import { checkedLookup } from "../dist/transport/checked-lookup.js";
import { createTransport, type TransportOptions } from "../dist/transport/create-transport.js";
import type { AttemptResult } from "../dist/transport/transport.js";
import { httpEndpoint } from "./support/endpoints.ts";

const body = new TextEncoder().encode("{}");

function post(url: string, options: TransportOptions = {}): Promise<AttemptResult> {
  const transport = createTransport(options);
  onTestFinished(() => transport.close());
  return transport.send({ url, headers: {}, body }, { timeoutMs: 5_000 });
}

const at = (...addresses: string[]): (() => Promise<LookupAddress[]>) => {
  return async () => addresses.map((address) => ({ address, family: isIPv4(address) ? 4 : 6 }));
};

const NEVER_CALLED: readonly string[] = [
  "169.254.169.254",
  "169.254.0.1",
  "169.254.255.255",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "fe80::1",
  "fe80::1%eth0",
  "febf:ffff::1",
  "fd00:ec2::254",
  "fd00:ec2::23",
  "fd00:42::42",
  "fd20:ce::254",
  "::ffff:169.254.169.254",
  "::ffff:a9fe:a9fe",
  "::ffff:100.100.100.200",
  "::169.254.169.254",
  "::ffff:0:169.254.169.254",
  "64:ff9b::169.254.169.254",
  "64:ff9b::6464:64c8",
  "64:ff9b:1::169.254.169.254",
  // ISATAP: 169.254.169.254 in the interface identifier, in any network.
  "2001:db8::5efe:a9fe:a9fe",
  "2620:0:1::200:5efe:169.254.169.254",
  "fd12::200:5efe:100.100.100.200",
  // NAT64 with a local prefix of 48, 56 and 64 bits.
  "64:ff9b:1:a9fe:a9:fe00::",
  "64:ff9b:1:12a9:fe:a9fe::",
  "64:ff9b:1:1234:a9:fea9:fe00:0",
  "2002:a9fe:a9fe::1",
  "2001:0:a9fe:a9fe::1",
  "2001:0:808:808::5601:5601",
  // 168.63.129.16 in each form. Of it every byte has to be read: of 169.254.169.254, the first two decide.
  "::168.63.129.16",
  "::ffff:168.63.129.16",
  "::ffff:0:168.63.129.16",
  "64:ff9b::168.63.129.16",
  "64:ff9b:1::168.63.129.16",
  "64:ff9b:1:a83f:81:1000::",
  "64:ff9b:1:a8:3f:8110::",
  "64:ff9b:1:1234:a8:3f81:1000:0",
  "2620:0:1::200:5efe:168.63.129.16",
  "2002:a83f:8110::1",
  "2001:0:a83f:8110::1",
  "2001:0:808:808::57c0:7eef",
];

const NOT_PUBLIC: readonly string[] = [
  "2620:0:1::5efe:8.8.8.8",
  "2620:0:1::200:5efe:10.0.0.1",
  "64:ff9b:1::8.8.8.8",
  "64:ff9b:1:808:8:800::",
  "0.0.0.0",
  "0.1.2.3",
  "10.0.0.1",
  "10.255.255.255",
  "100.64.0.1",
  "100.127.255.255",
  "127.0.0.1",
  "127.255.255.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.1",
  "192.0.2.1",
  "192.168.0.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "239.255.255.255",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::7f00:1",
  "::ffff:127.0.0.1",
  "::ffff:10.0.0.1",
  "::ffff:8.8.8.8",
  "64:ff9b::127.0.0.1",
  "64:ff9b::10.0.0.1",
  "64:ff9b:1::8.8.8.8",
  "2002:7f00:1::1",
  "2002:808:808::1",
  "2001:0:808:808::1",
  "2001:db8::1",
  "3fff::1",
  "fc00::1",
  "fd12:3456::1",
  "fec0::1",
  "ff02::1",
  "100::1",
];

const PUBLIC_ONES: readonly string[] = [
  "1.1.1.1",
  "8.8.8.8",
  "93.184.216.34",
  "100.63.255.255",
  "100.128.0.1",
  "169.253.255.255",
  "169.255.0.1",
  "172.15.255.255",
  "172.32.0.1",
  "223.255.255.254",
  "2606:4700:4700::1111",
  "2a00:1450:4001::200e",
  "64:ff9b::8.8.8.8",
  // Like ISATAP, but for the second byte of the interface identifier.
  "2620:0:1:0:1:5efe:808:808",
];

describe("the address policy", () => {
  it.each(NEVER_CALLED)("always blocks %s", (address) => {
    expect(refusedAddress(address)).toContain("never called");
    expect(refusedAddress(address, { blockPrivateNetworks: true })).toContain("never called");
  });

  it.each(NOT_PUBLIC)("blocks %s only with blockPrivateNetworks", (address) => {
    expect(refusedAddress(address)).toBeUndefined();
    expect(refusedAddress(address, { blockPrivateNetworks: true })).toContain("not a public address");
  });

  it.each(PUBLIC_ONES)("lets %s through", (address) => {
    expect(refusedAddress(address, { blockPrivateNetworks: true })).toBeUndefined();
  });

  it.each(["", "example.com", "1.2.3.4.5", "::g", "[::1]"])(
    "blocks %j, which is not an address",
    (address) => {
      expect(refusedAddress(address)).toBe("is not an IP address");
    },
  );

  it("agrees with Node's own block list over all of IPv4, in every notation", () => {
    const blocked = new BlockList();
    for (const [net, prefix] of [
      ["0.0.0.0", 8],
      ["10.0.0.0", 8],
      ["100.64.0.0", 10],
      ["127.0.0.0", 8],
      ["169.254.0.0", 16],
      ["172.16.0.0", 12],
      ["192.168.0.0", 16],
      ["224.0.0.0", 3],
    ] as const) {
      blocked.addSubnet(net, prefix);
    }
    const special = fc.constantFrom(0, 10, 100, 127, 169, 172, 192, 224, 255);
    const octet = fc.nat(255);
    fc.assert(
      fc.property(
        fc.oneof(special, octet),
        fc.oneof(fc.constantFrom(16, 31, 64, 127, 168, 254), octet),
        octet,
        octet,
        (...octets) => {
          const address = octets.join(".");
          fc.pre(blocked.check(address));
          expect(refusedAddress(address, { blockPrivateNetworks: true })).toBeDefined();
          expect(refusedAddress(`::ffff:${address}`, { blockPrivateNetworks: true })).toBeDefined();
          expect(refusedAddress(`64:ff9b::${address}`, { blockPrivateNetworks: true })).toBeDefined();
        },
      ),
    );
  });
});

describe("a connection", () => {
  it("is not opened to a name that resolves to a metadata address", async () => {
    const result = await post("http://innocent.example/latest/meta-data", {
      resolveHost: at("169.254.169.254"),
    });

    expect(result).toMatchObject({
      outcome: "rejected",
      code: "ERR_ADDRESS_BLOCKED",
      message:
        "innocent.example resolves to 169.254.169.254, which is a link-local or cloud metadata address, which is never called",
    });
  });

  it.each([
    "http://169.254.169.254/",
    "https://169.254.169.254/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://169.254.43518/",
    "http://169.254.169.254./",
    "http://[::ffff:169.254.169.254]/",
    "http://[fe80::1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[fd00:ec2::254]/",
  ])("is not opened to the address in %s", async (url) => {
    expect(await post(url)).toMatchObject({ outcome: "rejected", code: "ERR_ADDRESS_BLOCKED" });
  });

  it.each(["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "0.0.0.0", "0", "[::ffff:127.0.0.1]"])(
    "to %s is opened, unless blockPrivateNetworks is set",
    async (host) => {
      const endpoint = await httpEndpoint();
      const url = `http://${host}:${endpoint.port}/`;

      expect(await post(url)).toMatchObject({ outcome: "success" });
      expect(await post(url, { blockPrivateNetworks: true })).toMatchObject({
        outcome: "rejected",
        code: "ERR_ADDRESS_BLOCKED",
      });
      expect(endpoint.connections()).toBe(1);
    },
  );

  it("goes to those of a name's addresses that may be called, and to no other", async () => {
    const endpoint = await httpEndpoint();
    const resolveHost = at("169.254.169.254", "fe80::1", "127.0.0.1");

    expect(await post(`http://endpoint.example:${endpoint.port}/`, { resolveHost })).toMatchObject({
      outcome: "success",
    });
    expect(endpoint.requests).toHaveLength(1);
  });

  it("gets one address where Node asks for one, as with --no-network-family-autoselection, and those of one family", async () => {
    const lookup = promisify((options: LookupOptions, callback: Parameters<LookupFunction>[2]): void =>
      checkedLookup({ resolveHost: at("169.254.169.254", "fd00::1", "127.0.0.1") })(
        "shop",
        options,
        callback,
      ),
    );
    expect(await lookup({ all: true })).toEqual(await at("fd00::1", "127.0.0.1")());
    expect(await lookup({})).toBe("fd00::1");
    expect(await lookup({ family: 4 })).toBe("127.0.0.1");
  });

  it("is judged by the same answer that it is made with, so that a name cannot change in between", async () => {
    const endpoint = await httpEndpoint();
    const answers: string[] = [];
    // A name that is harmless to whoever asks first, and the target to whoever asks again.
    const resolveHost = async (): Promise<LookupAddress[]> => {
      const address = answers.length % 2 === 0 ? "192.0.2.1" : "127.0.0.1";
      answers.push(address);
      return [{ address, family: 4 }];
    };
    const options: TransportOptions = { resolveHost, blockPrivateNetworks: true };

    for (let round = 0; round < 4; round++) {
      const result = await post(`http://rebind.example:${endpoint.port}/`, options);
      expect(result).toMatchObject({ outcome: "rejected", code: "ERR_ADDRESS_BLOCKED" });
      expect(result.message).toContain(answers[round]);
    }
    expect(answers).toHaveLength(4);
    expect(endpoint.connections()).toBe(0);
  });

  it("is judged anew each time, however often the name was harmless before", async () => {
    const endpoint = await httpEndpoint((_, response) => {
      response.writeHead(200, { connection: "close" }).end();
    });
    let address = "127.0.0.1";
    const transport = createTransport({ resolveHost: async () => [{ address, family: 4 }] });
    onTestFinished(() => transport.close());
    const request = { url: `http://rebind.example:${endpoint.port}/`, headers: {}, body };

    expect(await transport.send(request, { timeoutMs: 5_000 })).toMatchObject({ outcome: "success" });
    address = "169.254.169.254";
    expect(await transport.send(request, { timeoutMs: 5_000 })).toMatchObject({
      code: "ERR_ADDRESS_BLOCKED",
    });
    expect(endpoint.requests).toHaveLength(1);
  });

  it("with a fault injected is judged alike", async () => {
    const transport = createTransport({ blockPrivateNetworks: true });
    onTestFinished(() => transport.close());
    const endpoint = await httpEndpoint();

    for (const fault of ["slow_body", "truncated", "reset"] as const) {
      const result = await transport.send(
        { url: endpoint.url, headers: {}, body, fault },
        { timeoutMs: 5_000 },
      );
      expect(result).toMatchObject({ outcome: "rejected", code: "ERR_ADDRESS_BLOCKED" });
    }
    expect(endpoint.connections()).toBe(0);
  });
});
