import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { isWindows, noPosix } from "../../../core/test/support/windows.ts";
import { freePort } from "../../../../tests/support/free-port.ts";
import { startProxy } from "../../../postgres/test/support/proxy.ts";
import { ask, NO_POSTGRES, startPostgres } from "../../../postgres/test/support/start-postgres.ts";
import { send } from "../../../server/test/support/http.ts";
import { SECRET, startReceiver } from "../../../server/test/support/receiver.ts";
import { httpProxy } from "../../../sender/test/support/proxy.ts";
import { closing, temporaryDirectory } from "../../../../tests/support/resources.ts";
import { runCommand, startCommand, startServe } from "../support/command.ts";
import { runHere } from "../support/run-here.ts";
import { startSilentReceiver } from "../support/silent-receiver.ts";

describe("--store of a database that is away", () => {
  it.skipIf(isWindows).each([["serve"], ["work"]])(
    `has %s say what it waits for, and stop when it is told to${noPosix}`,
    async (name) => {
      const away = `postgres://user:a-password@127.0.0.1:${await freePort()}/db`;
      const to = name === "serve" ? ["--to", "http://127.0.0.1:1/", "--port", "0"] : [];
      const command = startCommand([name, "--store", away, ...to]);
      await command.printed(/Waits for the store 127\.0\.0\.1:\d+\/db.*ECONNREFUSED/);
      command.process.kill("SIGTERM");
      expect(await command.ended).toBe(0);
      expect(command.stdout() + command.stderr()).not.toContain("a-password");
    },
  );

  it.skipIf(isWindows).each([
    ["in the query", (folder: string) => `postgres://user:a-password@/orders?host=${folder}`],
    [
      "in place of the host",
      (folder: string) => `postgres://user:a-password@${encodeURIComponent(folder)}/orders`,
    ],
  ])("has work name the folder of its socket, which is %s", async (_, urlOf) => {
    const folder = temporaryDirectory();
    const command = startCommand(["work", "--store", urlOf(folder)]);
    await command.printed(/Waits for the store .*ENOENT/);
    expect(command.stderr()).toContain(`Waits for the store ${folder}/orders, for a minute at most.`);
    command.process.kill("SIGTERM");
    expect(await command.ended).toBe(0);
  });

  it.skipIf(isWindows)(
    `has work stop on SIGHUP as serve does, when its terminal is closed${noPosix}`,
    async () => {
      const command = startCommand(["work", "--store", `postgres://127.0.0.1:${await freePort()}/db`], {
        // It may be there for serve.
        env: { COUNTERSIGN_TOKEN: "a-token" },
      });
      await command.printed(/Waits for the store/);
      command.process.kill("SIGHUP");
      expect(await command.ended).toBe(0);
    },
  );

  it("has serve answer 503 meanwhile, so that clients keep their calls and health checks see a live process", async () => {
    const port = await freePort();
    const away = `postgres://127.0.0.1:${await freePort()}/db`;
    const command = startCommand([
      "serve",
      "--store",
      away,
      "--to",
      "http://127.0.0.1:1/",
      "--port",
      `${port}`,
    ]);
    await command.printed(/Waits for the store/);
    const server = `http://127.0.0.1:${port}`;
    const ready = await send(`${server}/readyz`);
    expect([ready.status, ready.json()]).toMatchObject([503, { status: "down" }]);
    const alive = await send(`${server}/healthz`);
    expect([alive.status, alive.json()]).toEqual([200, { status: "ok" }]);
    const body = { writeKey: "any", userId: "u1", event: "Signed Up" };
    const call = await send(`${server}/v1/track`, { method: "POST", body });
    expect([call.status, call.json()]).toMatchObject([503, { success: false, code: "unavailable" }]);
    const status = await send(`${server}/api/status`);
    expect([status.headers["content-type"], status.json()]).toMatchObject([
      "application/problem+json",
      { status: 503, title: "Service Unavailable" },
    ]);
  });

  it.skipIf(isWindows)(
    `has work --port answer supervisors meanwhile, which find a live process that is not ready${noPosix}`,
    async () => {
      const port = await freePort();
      const away = `postgres://127.0.0.1:${await freePort()}/db`;
      const command = startCommand(["work", "--store", away, "--port", `${port}`]);
      await command.printed(/Waits for the store/);
      const worker = `http://127.0.0.1:${port}`;
      expect((await send(`${worker}/healthz`)).status).toBe(200);
      const ready = await send(`${worker}/readyz`);
      expect([ready.status, ready.json()]).toMatchObject([503, { status: "down" }]);
      expect((await send(`${worker}/metrics`)).status).toBe(503);
      command.process.kill("SIGTERM");
      expect(await command.ended).toBe(0);
    },
  );

  it("refuses a URL that cannot be read in words of the option, without the password", async () => {
    const { code, stderr } = await runHere(["work", "--store", "postgres://user:pass#word@127.0.0.1/db"]);
    expect(stderr).toMatch(/^countersign: --store, or COUNTERSIGN_STORE, cannot be read: .*# as %23/);
    expect(stderr).not.toContain("pass#");
    expect(code).toBe(2);
  });
});

const database = await startPostgres({ fsync: "off" });

describe.skipIf(database === undefined)(
  `--store (${database === undefined ? NO_POSTGRES : "PostgreSQL"})`,
  () => {
    const url = database?.url ?? "";
    afterAll(() => database?.stop());

    it("has one process accept and another deliver, which learns the settings from the store", async () => {
      const receiver = closing(await startReceiver("dev"));
      const worker = startCommand(["work", "--store", url, "--port", "0"]);
      const [, health = ""] = await worker.printed(/Answers (\S+)\/healthz/);
      await worker.printed(/Works on the store 127\.0\.0\.1:\d+\/postgres: no sources yet/);
      const server = await startServe([
        "--store",
        url,
        "--no-deliver",
        "--to",
        receiver.url,
        "--secret",
        "dev",
      ]);
      await server.printed(/Kept in {5}127\.0\.0\.1:\d+\/postgres/);
      expect((await send(`${server.url}/readyz`)).json()).toMatchObject({ delivers: false });
      const call = { writeKey: "any", userId: "u1", event: "Signed Up" };
      const response = await send(`${server.url}/v1/track`, { method: "POST", body: call });
      expect(response.status).toBe(200);
      await vi.waitFor(() => expect(receiver.webhooks).toHaveLength(1), { interval: 20 });
      // The worker knows the answer, and this server does not: it must not say that there is none.
      await server.printed(/track "Signed Up" u1 {2}accepted$/m);
      // What has ended is shown by any process. What ended here, and how long it took, is shown by the worker.
      const kept = 'countersign_deliveries_kept{destination="default/webhooks",state="delivered"} 1';
      const metrics = async (): Promise<string> => (await send(`${server.url}/metrics`)).text;
      await expect.poll(metrics).toContain(kept);
      const own = (await send(`${health}/metrics`)).text;
      expect(own).toContain(
        'countersign_deliveries_ended_total{destination="default/webhooks",state="delivered"} 1',
      );
      expect(own).toContain(
        'countersign_response_seconds_count{destination="default/webhooks",outcome="success"} 1',
      );
      expect(own).toContain(kept);
      const ready = await send(`${health}/readyz`);
      expect([ready.status, ready.json()]).toMatchObject([200, { status: "ok", delivers: true }]);
      expect((await send(`${health}/api/sources`)).status).toBe(404);
      for (const { process: child } of [server, worker]) child.kill("SIGTERM");
      expect(await server.ended).toBe(0);
      expect(await worker.ended).toBe(0);
      expect(server.stdout() + worker.stdout() + server.stderr() + worker.stderr()).not.toContain(
        "a-password",
      );
    });

    it("needs no libsql, which has no build for some machines: a server keeps what it rejects in memory", async () => {
      await ask(url, "CREATE DATABASE unbuilt").catch(() => {});
      const store = url.replace(/\/postgres$/, "/unbuilt");
      const receiver = closing(await startReceiver(SECRET));
      const options = ["--store", store, "--to", receiver.url, "--secret", SECRET];
      const server = await startServe(options, { env: { NODE_OPTIONS: "--no-addons" } });
      const post = (body: object): ReturnType<typeof send> =>
        send(`${server.url}/v1/track`, { method: "POST", body: { writeKey: "any", ...body } });
      expect((await post({ userId: "u1", event: "Signed Up" })).status).toBe(200);
      await vi.waitFor(() => expect(receiver.webhooks).toHaveLength(1), { interval: 20 });
      expect((await post({ userId: "u1" })).json()).toMatchObject({ success: true });
      expect((await send(`${server.url}/api/rejections`)).json()).toMatchObject([
        { message: '{"userId":"u1"}' },
      ]);
      server.process.kill("SIGTERM");
      expect(await server.ended).toBe(0);
    });

    it("has the retry policy of a server's config file, which workers follow: a server that does not deliver has no other use for it", async () => {
      await ask(url, "CREATE DATABASE policy").catch(() => {});
      const store = url.replace(/\/postgres$/, "/policy");
      const receiver = closing(await startReceiver("dev"));
      receiver.down = true;
      const cwd = temporaryDirectory();
      const hour = 3_600_000;
      const retry = { firstDelayMs: hour, maxDelayMs: hour, minJitter: 1 };
      writeFileSync(
        join(cwd, "countersign.config.json"),
        JSON.stringify({ to: receiver.url, secret: "dev", retry }),
      );
      const worker = startCommand(["work", "--store", store]);
      const server = await startServe(["--store", store, "--no-deliver"], { cwd });
      const call = { writeKey: "any", userId: "u1", event: "Ordered" };
      expect((await send(`${server.url}/v1/track`, { method: "POST", body: call })).status).toBe(200);
      await vi.waitFor(() => expect(receiver.attempts()).toBe(1));
      const waits = async (): Promise<number> => {
        const answer = await send(`${server.url}/api/deliveries?state=pending`);
        const { deliveries } = answer.json() as {
          deliveries: readonly { id: string; acceptedAt: string; dueAt?: string }[];
        };
        const [delivery] = deliveries;
        return Date.parse(delivery?.dueAt ?? "") - Date.parse(delivery?.acceptedAt ?? "");
      };
      await vi.waitFor(async () => expect(await waits()).toBeGreaterThan(0));
      expect(await waits()).toBeGreaterThanOrEqual(hour);
      worker.process.kill("SIGTERM");
      server.process.kill("SIGTERM");
    });

    it.each([["serve"], ["work"]])(
      "says that a newer version of the command wrote it, and not of a package: %s",
      async (name) => {
        await ask(url, "CREATE DATABASE newer").catch(() => {});
        const newer = url.replace(/\/postgres$/, "/newer");
        const to = name === "serve" ? ["--to", "http://127.0.0.1:1/", "--port", "0"] : [];
        await ask(
          newer,
          `CREATE SCHEMA IF NOT EXISTS countersign;
           CREATE TABLE IF NOT EXISTS countersign.meta (key text PRIMARY KEY, value bigint NOT NULL);
           INSERT INTO countersign.meta VALUES ('version', 1000), ('works_with', 1000) ON CONFLICT DO NOTHING`,
        );
        const { code, stderr } = await runCommand([name, "--store", newer, ...to]);
        expect(stderr).toMatch(
          /^countersign: The store 127\.0\.0\.1:\d+\/newer was written by a newer version of countersign\. Upgrade this one, or use another store\.\n$/,
        );
        expect(code).toBe(2);
      },
    );

    it.each([
      ["work", []],
      ["work", ["--json"]],
      ["serve", ["--to", "http://127.0.0.1:1/", "--port", "0", "--only", "failed"]],
      ["serve", ["--to", "http://127.0.0.1:1/", "--port", "0", "--json"]],
      ["serve", ["--to", "http://127.0.0.1:1/", "--port", "0", "--quiet"]],
    ])(
      "says at the start, and once, that its clock is wrong, so that nothing is delivered: %s %j",
      async (name, more) => {
        const ahead = "const now = Date.now; Date.now = () => now() + 3_600_000;";
        const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(ahead)}` };
        const command = startCommand([name, "--store", url, ...more], { env });
        // At least: by what the reading took, it is less.
        await command.printed(
          /The clock of this machine is (?:60|59) min ahead of the clock of the database/,
        );
        await command.printed(name === "work" ? /Works on|"working"/ : /listens on|"listening"/);
        command.process.kill("SIGTERM");
        expect(await command.ended).toBe(0);
        const lines = `${command.stdout()}${command.stderr()}`.split("\n");
        const said = lines.filter((line) => line.includes("The clock of this machine is"));
        // Where events are printed, it is one: with the state of the store.
        const shown = more.includes("--quiet") ? /^countersign: The clock/ : /unsafe.*The clock/;
        expect(said).toEqual([expect.stringMatching(shown)]);
      },
    );

    it("does not say at the end that waiting deliveries are gone, which the store keeps", async () => {
      const server = await startServe(["--store", url, "--no-deliver", "--to", "http://127.0.0.1:1/"]);
      const call = { writeKey: "any", userId: "u1", event: "Waits" };
      expect((await send(`${server.url}/v1/track`, { method: "POST", body: call })).status).toBe(200);
      server.process.kill("SIGTERM");
      expect(await server.ended).toBe(0);
      expect(server.stdout()).toMatch(/1 accepted, 1 waiting \(kept in 127\.0\.0\.1:\d+\/postgres\)/);
    });

    it("says of a server that only accepts who delivers, and calls no receiver", async () => {
      const receiver = await startSilentReceiver();
      const server = await startServe(["--store", url, "--no-deliver", "--to", receiver.url]);
      await server.printed(/Try it/);
      expect(server.stdout()).toMatch(
        /^Delivers {4}nothing; countersign work on the same store does, and servers without --no-deliver$/m,
      );
      expect(server.stdout()).not.toMatch(/^Receiver/m);
    });

    it.each([
      ["serve", ["--to", "http://127.0.0.1:1/", "--port", "0"], /Try it/],
      ["work", [], /Works on/],
    ])(
      "has %s stop in time while the database hangs, and report nothing as a fault",
      async (name, more, ready) => {
        const proxy = await startProxy(database?.port ?? 0);
        const command = startCommand([name, "--store", proxy.url(url), "--drain", "1", ...more]);
        await command.printed(ready);
        proxy.stall();
        command.process.kill("SIGTERM");
        const toldAt = performance.now();
        expect(await command.ended).toBe(1);
        // The second of --drain, one for what is waiting, and what a loaded machine takes.
        expect(performance.now() - toldAt).toBeLessThan(9_000);
        expect(command.stderr()).toContain(
          "countersign: The store did not close within the 1 s of --drain. What was accepted is kept in it, and what has not ended is delivered later.\n",
        );
        expect(command.stderr()).not.toContain("report it");
        if (name === "serve") expect(command.stdout()).toContain("an unknown number waiting (kept in");
      },
    );

    it("takes the place of a directory in the config file, in which nothing is kept then", async () => {
      const folder = temporaryDirectory();
      const config = join(folder, "countersign.config.json");
      writeFileSync(config, JSON.stringify({ to: "http://127.0.0.1:1/", data: "data", maxBytes: 1e9 }));
      const server = await startServe(["--store", url, "--no-deliver", "--config", config]);
      await server.printed(/Kept in {5}127\.0\.0\.1:\d+\/postgres/);
      expect(existsSync(join(folder, "data"))).toBe(false);
    });

    it.each([
      ["the config file says", "serve"],
      ["--keep-for of work says", "work"],
    ])("keeps ended deliveries for as long as %s", async (_title, name) => {
      const folder = temporaryDirectory();
      const config = join(folder, "countersign.config.json");
      writeFileSync(config, JSON.stringify({ to: "http://127.0.0.1:1/", keepFor: "1h" }));
      const serve = ["--store", url, "--no-deliver", "--config", config];
      const before = await startServe(serve);
      before.process.kill("SIGTERM");
      await before.ended;
      // Kept for less than the default of seven days, and removed with what has ended.
      const skippedAt = Date.now() - 2 * 3_600_000;
      await ask(
        url,
        `INSERT INTO countersign.skipped VALUES ('default', 'two hours old', 'm', 'track', 'u', NULL, ${skippedAt}, 'no_destination');
         DELETE FROM countersign.meta WHERE key = 'swept'`,
      );
      if (name === "serve") await startServe(serve);
      else startCommand(["work", "--store", url, "--keep-for", "1h"]);
      const left = () => ask(url, "SELECT id FROM countersign.skipped WHERE id = 'two hours old'");
      await expect.poll(left, { interval: 50 }).toEqual([]);
    });

    it("has work --drain wait no longer than that for an attempt", async () => {
      const receiver = await startSilentReceiver();
      const server = await startServe(["--store", url, "--no-deliver", "--to", receiver.url]);
      const worker = startCommand(["work", "--store", url, "--drain", "1"]);
      await worker.printed(/Works on the store/);
      const call = { writeKey: "any", userId: "u1", event: "Slow" };
      expect((await send(`${server.url}/v1/track`, { method: "POST", body: call })).status).toBe(200);
      await receiver.requested;
      worker.process.kill("SIGTERM");
      const told =
        "countersign: SIGTERM: waiting for running attempts, for at most 1 s. A second signal exits at once.\n";
      expect([await worker.ended, worker.stderr()]).toEqual([0, told]);
      // It did not wait for the end of the attempt either, which ends by itself after five seconds.
      expect((await send(`${server.url}/api/deliveries?event=Slow`)).json()).toMatchObject({
        deliveries: [{ event: "Slow", state: "pending", attempts: 0 }],
      });
    });

    it("has work --proxy call endpoints through the proxy", async () => {
      const receiver = closing(await startReceiver());
      const proxy = await httpProxy();
      const to = receiver.url.replace("127.0.0.1", "shop.example");
      const server = await startServe(["--store", url, "--no-deliver", "--to", to, "--secret", SECRET]);
      const call = { writeKey: "any", userId: "u1", event: "Proxied" };
      expect((await send(`${server.url}/v1/track`, { method: "POST", body: call })).status).toBe(200);
      startCommand(["work", "--store", url, "--proxy", proxy.url]);
      const delivered = async (): Promise<string> =>
        (await send(`${server.url}/api/deliveries?event=Proxied`)).text;
      await expect.poll(delivered, { interval: 50 }).toContain('"state":"delivered"');
      expect(new Set(proxy.asked)).toEqual(new Set([new URL(to).host]));
    });

    it("has work --block-private-networks call no receiver on this machine", async () => {
      const receiver = closing(await startReceiver());
      const server = await startServe(["--store", url, "--no-deliver", "--to", receiver.url]);
      const call = { writeKey: "any", userId: "u1", event: "Blocked" };
      expect((await send(`${server.url}/v1/track`, { method: "POST", body: call })).status).toBe(200);
      startCommand(["work", "--store", url, "--block-private-networks"]);
      const deliveries = async (): Promise<string> =>
        (await send(`${server.url}/api/deliveries?event=Blocked`)).text;
      await expect.poll(deliveries, { interval: 50 }).toContain("ERR_ADDRESS_BLOCKED");
      expect(receiver.attempts()).toBe(0);
    });

    it.each([
      [["serve", "--no-deliver", "--to", "http://127.0.0.1:1/"], "--no-deliver needs --store"],
      [
        ["serve", "--store", "postgres://127.0.0.1/db", "--max-bytes", "2MB", "--to", "http://127.0.0.1:1/"],
        "--max-bytes limits --data",
      ],
      [["work", "--store", "mysql://127.0.0.1/db"], "is not the URL of a PostgreSQL database"],
      [["work"], "--store"],
      [
        ["work", "--store", "postgres://127.0.0.1/db", "--proxy", "proxy.example:3128"],
        "--proxy must be the URL",
      ],
      [["work", "--store", "postgres://127.0.0.1/db", "--host", "127.0.0.1"], "--host is for --port"],
      [
        ["work", "--store", "postgres://127.0.0.1/db", "--token", "t"],
        "--token is for --port, which is missing. Add --port 9090, or leave --token out.",
      ],
      [["work", "--store", "postgres://127.0.0.1/db", "--allow-host", "a"], "--allow-host is for --port"],
      [
        ["work", "--store", "postgres://127.0.0.1/db", "--port", "0", "--host", "0.0.0.0"],
        "so it needs a token",
      ],
      [
        ["serve", "--store", "postgres://127.0.0.1/db", "--data", "x", "--to", "http://127.0.0.1:1/"],
        "--data",
      ],
    ])("refuses %j with a sentence that says what to do", async (args, words) => {
      const { code, stderr } = await runHere(args);
      expect(stderr).toContain(words);
      expect(code).toBe(2);
    });

    it("says that the password is wrong, and does not print it", async () => {
      const wrong = url.replace(/:[^:@]+@/u, ":wrong-password@");
      const { code, stderr } = await runCommand(["work", "--store", wrong]);
      expect(stderr).toContain("refused the user or the password");
      expect(stderr).not.toContain("wrong-password");
      expect(code).toBe(2);
    });
  },
);
