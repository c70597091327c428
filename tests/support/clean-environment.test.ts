import { expect, it } from "vitest";
import { cleanEnvironment } from "./clean-environment.ts";

const cleaned = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  cleanEnvironment(env);
  return env;
};

it("what a user has set for other programs does not reach the tests", () => {
  const kept = {
    PATH: "/usr/bin",
    TZ: "Asia/Kathmandu",
    LC_ALL: "tr_TR.UTF-8",
    POSTGRES_URL: "postgres://127.0.0.1/tests",
    REDIS_URL: "redis://127.0.0.1",
    COUNTERSIGN_TEST_PORTS: "1=2",
    COUNTERSIGN_WHOLE_SENDER: "1",
    npm_config_registry: "https://registry.example/",
  };
  const ofOthers = {
    NODE_OPTIONS: "--no-warnings",
    FORCE_COLOR: "1",
    PORT: "9",
    PGHOST: "elsewhere.example",
    PGPASSWORD: "theirs",
    DATABASE_URL: "postgres://elsewhere.example/",
    WEBHOOK_SECRET: "theirs",
    COUNTERSIGN_HOST: "",
    COUNTERSIGN_STORE: "postgres://elsewhere.example/",
  };
  expect(cleaned({ ...kept, ...ofOthers })).toEqual(kept);
});

it("a proxy is not asked for this machine, and is for what is elsewhere", () => {
  const all = "registry.example,localhost,127.0.0.1,::1";
  expect(cleaned({ http_proxy: "http://p:1", NO_PROXY: "registry.example" })).toEqual({
    http_proxy: "http://p:1",
    NO_PROXY: all,
    no_proxy: all,
  });
  expect(cleaned({ ALL_PROXY: "http://p:1" })).toMatchObject({ no_proxy: "localhost,127.0.0.1,::1" });
});

it("the environment of tests is clean", () => {
  expect(cleaned({ ...process.env })).toEqual({ ...process.env });
});
