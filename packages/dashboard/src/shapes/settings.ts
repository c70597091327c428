import type { Headers } from "./types.ts";

interface EndpointSettings {
  readonly url: string;
  readonly headers?: Headers;
  readonly ca?: string | readonly string[];
}

export interface Destination {
  readonly name: string;
  readonly endpoints: readonly EndpointSettings[];
  readonly signed: boolean;
  readonly enabled: boolean;
  readonly includeFields?: readonly string[];
  readonly concurrency?: number;
}

export interface Source {
  readonly name: string;
  readonly writeKey: string;
  readonly destinations: readonly Destination[];
  readonly managedBy: "config" | "api";
  readonly note?: string;
}
