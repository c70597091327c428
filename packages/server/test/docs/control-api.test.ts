import { readFileSync } from "node:fs";
import { createServer, type CountersignServer } from "@countersign/server";
import { virtualClock } from "@countersign/sender/testing";
import { expect, it } from "vitest";
import { send } from "../support/http.ts";
import { SECRET, startReceiver } from "../support/receiver.ts";
import { closing } from "../../../../tests/support/resources.ts";

const GUIDE = readFileSync(new URL("../../../../docs/control-api.md", import.meta.url), "utf8");

interface Example {
  readonly line: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

/** The curl commands of the guide, in order. */
function examples(): readonly Example[] {
  const blocks = [...GUIDE.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  const lines = blocks.flatMap((block) => block.replaceAll("\\\n", " ").trim().split("\n"));
  return lines.map(readCommand);
}

function readCommand(line: string): Example {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
  expect(words.shift()).toBe("curl");
  const headers: Record<string, string> = {};
  let method: string | undefined;
  let url = "";
  let body: string | undefined;
  while (words.length > 0) {
    const word = words.shift() ?? "";
    if (word === "-i") continue;
    if (word === "-X") method = words.shift();
    else if (word === "-d") body = words.shift();
    else if (word === "-H") {
      const [name = "", value = ""] = (words.shift() ?? "").split(": ");
      headers[name] = value;
    } else url = word;
  }
  return { line, method: method ?? (body === undefined ? "GET" : "POST"), url, headers, body };
}

async function start(): Promise<{
  server: CountersignServer;
  ids: Record<string, string>;
  recordWaiting: () => Promise<string>;
}> {
  const receiver = closing(await startReceiver());
  const options = { to: receiver.url, secret: SECRET, port: 0, clock: virtualClock("2026-01-31T15:00:00Z") };
  const server = closing(await createServer(options));
  const record = async (event: string): Promise<string> => {
    const receipt = await server.sender.track({ userId: "u1", event });
    return receipt.deliveries[0] ?? "";
  };
  const delivered = await record("Ordered");
  await server.sender.idle();
  receiver.answers.push(400);
  await record("Order Failed");
  await server.sender.idle();
  const recordWaiting = async (): Promise<string> => {
    receiver.answers.push(503);
    const pending = await record("Order Waits");
    await expect.poll(async () => (await server.sender.delivery(pending))?.attempts.length).toBe(1);
    return pending;
  };
  return { server, ids: { DELIVERY: delivered, PENDING: await recordWaiting() }, recordWaiting };
}

async function deliveredIn({ sender }: CountersignServer): Promise<string> {
  const list = () => sender.summaries({ state: "delivered" });
  await expect.poll(async () => (await list()).deliveries.length).toBeGreaterThan(0);
  return (await list()).deliveries[0]?.id ?? "";
}

it("every example of the guide does what it says", async () => {
  const { server, ids, recordWaiting } = await start();
  const fill = (text: string): string =>
    text
      .replaceAll(/\b(DELIVERY|PENDING)\b/g, (name) => ids[name] ?? name)
      .replace("http://127.0.0.1:4010", server.url);
  for (const { line, method, url, headers, body } of examples()) {
    // An example before removed those that were delivered.
    if (ids["DELIVERY"] && !(await server.sender.delivery(ids["DELIVERY"]))) {
      ids["DELIVERY"] = await deliveredIn(server);
    }
    // An example before tried all that wait.
    if (line.includes("PENDING")) {
      await server.sender.idle();
      ids["PENDING"] = await recordWaiting();
    }
    const answer = await fetch(fill(url), {
      method,
      headers,
      ...(body !== undefined && { body: fill(body) }),
    });
    const text = await answer.text();
    expect([line, answer.status < 300, text]).toEqual([line, true, text]);
    if (text.includes('"valid"')) expect(JSON.parse(text)).toMatchObject({ valid: false });
    if (text.includes('"matches"')) expect(JSON.parse(text)).toMatchObject({ matches: true });
  }
});

it("every operation of the API stands in the guide", async () => {
  const { server } = await start();
  const { paths } = (await send(`${server.url}/api/openapi.json`)).json() as {
    paths: Record<string, object>;
  };
  const missing = Object.keys(paths).filter((path) => {
    const pattern = path.replaceAll(/\{\w+\}/g, "[\\w-]+");
    return !new RegExp(`${pattern}(?![\\w/])`).test(GUIDE);
  });
  expect(missing).toEqual([]);
});

it("every event of the stream stands in the guide, and it names no other", async () => {
  const { server } = await start();
  const { components } = (await send(`${server.url}/api/openapi.json`)).json() as {
    components: { schemas: Record<string, { properties?: { event?: { const?: string } } }> };
  };
  const described = Object.values(components.schemas).flatMap(
    ({ properties }) => properties?.event?.const ?? [],
  );
  const table = GUIDE.split("\n## Events\n")[1]?.split("\nThe stream begins with ")[0] ?? "";
  const rows = [...table.matchAll(/^\| (`[^|]+) \|/gm)].map(([, names = ""]) => names);
  const named = rows.flatMap((names) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect([...named, "hello", "reset"].toSorted()).toEqual(described.toSorted());
});

it("every metric that the guide and its alert rules name exists, with the labels that they use", async () => {
  const { server } = await start();
  const { text } = await send(`${server.url}/metrics`);
  const named = new Set([...GUIDE.matchAll(/countersign_\w+/g)].map(([name]) => name));
  expect(named.size).toBeGreaterThan(5);
  for (const name of named) expect(text).toMatch(new RegExp(`^${name}[{ ]`, "m"));
  const labels = [...GUIDE.matchAll(/(countersign_\w+)\{(\w+)=~?"([^"|]+)/g)];
  for (const [, name, label, value] of labels)
    expect(text).toMatch(new RegExp(`^${name}\\{.*${label}="${value}"`, "m"));
  for (const [line] of text.matchAll(/^countersign_(?:failure_streak|oldest_pending_seconds).*$/gm)) {
    expect(line).toContain('destination="default/webhooks"');
  }
  const rules = GUIDE.match(/^```yaml\n(.*?)^```$/ms)?.[1] ?? "";
  expect(rules.match(/- alert:/g)?.length).toBe(rules.match(/expr:/g)?.length);
});
