import { Option } from "commander";

/** `--proxy`, of the commands that deliver. */
export function proxyOption(): Option {
  return new Option(
    "--proxy <url>",
    "call endpoints through this HTTP proxy, which lets tunnels (CONNECT) pass; with a user name and a password, set the variable instead",
  ).env("COUNTERSIGN_PROXY");
}

/** `--noproxy`, in the form of the variable NO_PROXY. A flag that starts with `--no-` would turn off another one. */
export function noProxyOption(): Option {
  return new Option(
    "--noproxy <hosts>",
    "call these hosts without the proxy: names, which stand for their subdomains too, addresses and ranges, with commas; this machine always is",
  ).env("COUNTERSIGN_NOPROXY");
}
