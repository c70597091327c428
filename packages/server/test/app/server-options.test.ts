import { sqliteStore } from "@countersign/sender";
import { createServer, ServerOptionsError, type ServerOptions } from "@countersign/server";
import { describe, expect, it } from "vitest";
import { closing } from "../../../../tests/support/resources.ts";

const TO = "http://127.0.0.1:9/webhooks";

/** What a JavaScript caller may pass, whatever the types say. */
async function refusalOf(options: object): Promise<Error> {
  const started = createServer({ to: TO, port: 0, ...options });
  const error = await started.then(
    (server) => closing(server) && undefined,
    (refusal: unknown) => refusal,
  );
  if (!(error instanceof Error)) throw new Error("it started");
  return error;
}

describe("createServer", () => {
  it.each([
    [{ sharedSecret: "dev" }, 'unknown option "sharedSecret": it is called secret here.'],
    [{ secret: undefined }, "secret is undefined: set the variable that it comes from"],
    [{ secrt: "dev" }, 'unknown option "secrt"; did you mean "secret"?'],
    [{ Token: "t" }, 'unknown option "Token"; did you mean "token"?'],
    [{ stor: {} }, 'unknown option "stor"; did you mean "store"?'],
    [{ retry: { windowMS: 1 } }, "windowMs"],
    [{ to: undefined, sources: [{ name: "s", writekey: "k", destinations: [] }] }, "writeKey"],
    [{ to: undefined, sources: [{ name: "s", destinations: [{ endpoints: [{ uri: TO }] }] }] }, "url"],
  ])(
    "does not start unsigned or otherwise than meant: %j is a TypeError with the right name",
    async (options, words) => {
      const error = await refusalOf(options);
      expect(error).toBeInstanceOf(TypeError);
      expect(error.message).toContain(words);
    },
  );

  it.each([
    [
      { clock: {} },
      "createServer({ clock }) must be an object with now(), schedule(), hold(): now() is missing.",
    ],
    [{ clock: { now: () => 0, schedule: () => {} } }, "hold() is missing"],
    [{ clock: Date.now }, "now() is missing"],
    [{ store: {} }, "open() is missing"],
    [{ onError: "log" }, "createServer({ onError }) must be a function"],
    [{ retry: 3 }, "createServer({ retry }) must be an object"],
    [{ port: "4010" }, "createServer({ port }) must be a number"],
    [{ data: 1 }, "createServer({ data }) must be a string"],
    [{ secret: ["dev"] }, "createServer({ secret }) must be a string"],
    [
      { maxBytes: 2_000_000_000 },
      "`maxBytes` must be at most 1000000000 in memory, not 2000000000. To keep more, give a directory",
    ],
    [{ maxConnections: 1.5 }, "`maxConnections` must be a whole number"],
    [
      { deliver: false },
      "`deliver: false`, or --no-deliver, needs a `store` that other processes deliver from",
    ],
    [{ deliver: false, data: "unused" }, "needs a `store`"],
    [{ deliver: false, store: sqliteStore(), record: "r.jsonl" }, "it sends nothing. Leave one of them out."],
    [
      { allowHosts: ["hooks.example.com", "https://hooks.example.com"] },
      'has "https://hooks.example.com". Give the name',
    ],
    [{ allowHosts: ["hooks.example.com:8443"] }, "without https://, a port or a path"],
  ])("says at creation that %j cannot work, not in the middle of the work", async (options, words) => {
    const error = await refusalOf(options);
    expect(error).toBeInstanceOf(ServerOptionsError);
    expect(error.message).toContain(words);
  });

  it("says that it needs an object, if it gets something else", async () => {
    await expect(createServer(TO as unknown as ServerOptions)).rejects.toThrow("takes an options object");
  });

  it("closes with known options only", async () => {
    const server = closing(await createServer({ to: TO, port: 0 }));
    expect(() => server.close({ deadline: 1 } as object)).toThrow(
      "it is called deadlineMs here, in milliseconds",
    );
  });
});
