/** One of the six calls this library records. */
export type CallType = "identify" | "track" | "page" | "screen" | "group" | "alias";

/**
 * Who a call is about: a `userId`, an `anonymousId`, or both. An empty string counts as missing (spec 2.3).
 */
export type Identity =
  | { readonly userId: string; readonly anonymousId?: string | null | undefined }
  | { readonly userId?: string | null | undefined; readonly anonymousId: string };

/** What every call may carry. A field that is `undefined` or `null` is a field that is absent. */
export interface CallOptions {
  /**
   * Turns destinations on and off by their case-sensitive name; all are on by default. `All: false` turns off every
   * destination that is not itself turned on (spec 6). An object turns a destination on and hands it settings.
   */
  readonly integrations?: Readonly<Record<string, boolean | object>> | null | undefined;
  /** About the situation, not about the user: `ip`, `userAgent`, `campaign`, `app`, `device` and the like. */
  readonly context?: object | null | undefined;
  /**
   * When it happened, for importing past data: a `Date` or an ISO 8601 string. Sent in UTC with milliseconds; a string
   * without an offset is UTC. Absent means now.
   */
  readonly timestamp?: Date | string | null | undefined;
  /** Under 100 characters. Two calls with one id are one message to the service. A random UUID by default. */
  readonly messageId?: string | null | undefined;
}

/** The page's facts. The four named ones are recognised everywhere; any other may be added (spec 2.3). */
export interface PageProperties {
  readonly url?: string | undefined;
  readonly title?: string | undefined;
  readonly referrer?: string | undefined;
  readonly path?: string | undefined;
  readonly [custom: string]: unknown;
}

/** Ties a user to who they are: once when an account is made, and again when a trait changes. */
export type IdentifyCall = Identity & CallOptions & { readonly traits?: object | null | undefined };

/** Something a user did. */
export type TrackCall = Identity &
  CallOptions & {
    /** The event's name, required and not empty. */
    readonly event: string;
    readonly properties?: object | null | undefined;
  };

/** A web page a user saw. */
export type PageCall = Identity &
  CallOptions & {
    readonly name?: string | null | undefined;
    readonly category?: string | null | undefined;
    /** Sent as `properties`, as the Go library does. */
    readonly traits?: PageProperties | null | undefined;
    /** Merged over `traits`. */
    readonly properties?: PageProperties | null | undefined;
  };

/** A screen of an app a user saw. */
export type ScreenCall = Identity &
  CallOptions & {
    readonly name?: string | null | undefined;
    readonly category?: string | null | undefined;
    readonly properties?: object | null | undefined;
  };

/** Puts a user into a group: a company, a team, an account. */
export type GroupCall = Identity &
  CallOptions & {
    /** The group's id, required and not empty. */
    readonly groupId: string;
    readonly traits?: object | null | undefined;
  };

/** Gives a user a new id: events so far under `previousId` and events from now on under `userId` are one user's. */
export type AliasCall = CallOptions & {
  /** The new id, required and not empty. */
  readonly userId: string;
  /** The id to alias from, required and not empty. */
  readonly previousId: string;
  readonly anonymousId?: string | null | undefined;
};
