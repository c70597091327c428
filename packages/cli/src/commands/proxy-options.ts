import { messageOf } from "@countersign/protocol";
import type { ProxyOptions } from "@countersign/sender";
import { Option } from "commander";
import { proxyArgument } from "./arguments.ts";
import { UsageError } from "../errors/usage-error.ts";

/** The options about an outgoing proxy, as commander reads them. */
export interface ProxyFlags {
  readonly proxy?: string;
  readonly noproxy?: string;
  readonly blockPrivateNetworks?: boolean;
}

/** `--proxy`, of the commands that call endpoints as the sender does. */
export function proxyOption(): Option {
  return new Option(
    "--proxy <url>",
    "call endpoints through this HTTP proxy, which lets tunnels (CONNECT) pass; with a user name and a password, set the variable instead",
  )
    .env("COUNTERSIGN_PROXY")
    .argParser(proxyArgument);
}

/** `--noproxy`, in the form of the variable NO_PROXY. A flag that starts with `--no-` would turn off another one. */
export function noProxyOption(): Option {
  return new Option(
    "--noproxy <hosts>",
    "call these hosts without the proxy: names, which stand for their subdomains too, addresses and ranges, with commas; this machine always is",
  ).env("COUNTERSIGN_NOPROXY");
}

/**
 * The options about a proxy, in the words of the libraries.
 *
 * @throws UsageError when one is wrong, before anything is opened.
 */
export async function proxyOf({ proxy, noproxy: noProxy, ...flags }: ProxyFlags): Promise<ProxyOptions> {
  const { blockPrivateNetworks } = flags;
  if (proxy === undefined && noProxy === undefined) return {};
  const { checkProxy } = await import("@countersign/sender");
  try {
    checkProxy({ proxy, noProxy, blockPrivateNetworks }, (name) => `--${name.toLowerCase()}`);
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
  return { proxy, noProxy };
}
