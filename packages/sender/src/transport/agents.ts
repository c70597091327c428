import type { Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { Agent, type buildConnector } from "undici";
import { trustOnly } from "./certificate-authority.ts";
import { createConnector, type ConnectorOptions } from "./connector.ts";
import type { AttemptRequest } from "./transport.ts";

type Authorities = AttemptRequest["ca"];

// Each holds its parsed certificates. More endpoints than this with an authority of their own still work; the
// connections of the least recently used ones are then opened again.
const MAX_AUTHORITIES = 256;

const HTTP: Agent.Options = {
  allowH2: false,
  pipelining: 1,
  maxHeaderSize: 16_384,
  headersTimeout: 0,
  bodyTimeout: 0,
};

// A connection that is never idle would otherwise stay with its address for as long as there are messages, wherever its
// host's name leads by now. So all connections of an agent are replaced at this age. Undici's `clientTtl` does that for each
// one, but asks the clock for each at each request.
const MAX_AGE_MS = 60_000;

interface Renewable {
  readonly connect: buildConnector.connector;
  agent: Agent;
  openedAt: number;
}

/** The connections to endpoints: kept alive per origin, and apart for each set of authorities that vouch for them. */
export class Agents {
  readonly #options: ConnectorOptions;
  /** The least recently used one comes first. */
  readonly #byAuthorities = new Map<string, Renewable>();
  #latest: string | undefined;
  readonly #live = new Set<Agent>();

  constructor(options: ConnectorOptions) {
    this.#options = options;
  }

  /** The agent for endpoints with this `ca`. */
  of(ca: Authorities): Agent {
    const key = ca === undefined ? "" : [ca].flat().join("\n");
    const entry = this.#byAuthorities.get(key) ?? this.#renewable(this.#connectorOf(ca));
    const now = performance.now();
    if (now - entry.openedAt > MAX_AGE_MS) this.#renew(entry, now);
    if (key !== this.#latest) {
      this.#byAuthorities.delete(key);
      this.#byAuthorities.set(key, entry);
      this.#latest = key;
      this.#forgetOldest();
    }
    return entry.agent;
  }

  /** An agent whose connection nothing else uses, and that tells which one it is. For `discard()` after use. */
  ofItsOwn(ca: Authorities, onSocket: (socket: Socket | null) => void): Agent {
    const connect = this.#connectorOf(ca);
    return this.#open((target, callback) =>
      connect(target, (...connected) => {
        onSocket(connected[1]);
        callback(...connected);
      }),
    );
  }

  async discard(agent: Agent): Promise<void> {
    await agent.destroy();
    this.#live.delete(agent);
  }

  /** Drops every connection, made or in the making. */
  async close(): Promise<void> {
    const destroyed = [...this.#live].map((agent) => agent.destroy());
    for (const socket of this.#options.pending) {
      socket.destroy();
    }
    await Promise.all(destroyed);
  }

  #connectorOf(ca: Authorities): buildConnector.connector {
    return createConnector(this.#options, ca === undefined ? undefined : trustOnly(ca));
  }

  #renewable(connect: buildConnector.connector): Renewable {
    return { connect, agent: this.#open(connect), openedAt: performance.now() };
  }

  #renew(entry: Renewable, now: number): void {
    this.#retire(entry.agent);
    entry.agent = this.#open(entry.connect);
    entry.openedAt = now;
  }

  #open(connect: buildConnector.connector): Agent {
    const agent = new Agent({ ...HTTP, connect });
    this.#live.add(agent);
    return agent;
  }

  #forgetOldest(): void {
    for (const [key, { agent }] of this.#byAuthorities) {
      if (this.#byAuthorities.size <= MAX_AUTHORITIES) {
        return;
      }
      this.#byAuthorities.delete(key);
      this.#retire(agent);
    }
  }

  /** Requests in progress may end. */
  #retire(agent: Agent): void {
    void agent.close().then(() => this.#live.delete(agent));
  }
}
