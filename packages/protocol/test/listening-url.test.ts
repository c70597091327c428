import { isEveryAddress, listeningUrl } from "@countersign/protocol";
import { expect, it } from "vitest";

it("is a URL that can be called, for addresses that can only be listened on", () => {
  expect(listeningUrl("http", "0.0.0.0", 4010)).toBe("http://127.0.0.1:4010");
  expect(listeningUrl("https", "::", 4010)).toBe("https://[::1]:4010");
  expect(["0.0.0.0", "::"].every(isEveryAddress)).toBe(true);
});

it("names the address that was asked for otherwise", () => {
  expect(listeningUrl("http", "localhost", 80)).toBe("http://localhost:80");
  expect(listeningUrl("http", "fe80::1", 4010)).toBe("http://[fe80::1]:4010");
  expect(["127.0.0.1", "::1", "localhost", ""].some(isEveryAddress)).toBe(false);
});
