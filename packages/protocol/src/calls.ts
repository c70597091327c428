/** The six kinds of call (spec 2.3, 6). */
export const CALL_TYPES = ["identify", "track", "page", "screen", "group", "alias"] as const;

/** One of the six kinds of call. */
export type CallType = (typeof CALL_TYPES)[number];

/** Who a call is about: a `userId`, an `anonymousId`, or both. An empty string counts as absent (spec 2.3). */
// The compiler compares a wrong call with the last of them, and servers mostly pass a `userId`.
export type Identity =
  | { readonly userId?: string | null | undefined; readonly anonymousId: string }
  | { readonly userId: string; readonly anonymousId?: string | null | undefined };

/** Fields that every call may have. A field that is `undefined` or `null` counts as absent. */
export interface CommonFields {
  /**
   * Turns destinations on and off by their case-sensitive name; all are on by default. `All: false` turns off every
   * destination that is not turned on itself (spec 6). An object turns a destination on and passes settings to it.
   */
  readonly integrations?: Readonly<Record<string, boolean | object | null | undefined>> | null | undefined;
  /** About the situation, not about the user: `ip`, `userAgent`, `campaign`, `app`, `device` and the like. */
  readonly context?: object | null | undefined;
  /**
   * When it happened, for importing past data: a `Date` or ISO 8601 text. Text without an offset is UTC. Default: now.
   */
  readonly timestamp?: Date | string | null | undefined;
  /** Identifies the message, in at most 99 characters. Two calls with the same id are one message. Default: a new id. */
  readonly messageId?: string | null | undefined;
}

/** Facts about a page. The four named ones are recognised everywhere; any other may be added (spec 2.3). */
export interface PageProperties {
  readonly url?: string | undefined;
  readonly title?: string | undefined;
  readonly referrer?: string | undefined;
  readonly path?: string | undefined;
  readonly [custom: string]: unknown;
}

/** Says who a user is. Make it when an account is created, and again when a trait changes. */
export type IdentifyCall = Identity & CommonFields & { readonly traits?: object | null | undefined };

/** Says what a user did. */
export type TrackCall = Identity &
  CommonFields & {
    /** The event's name. Required. */
    readonly event: string;
    readonly properties?: object | null | undefined;
  };

/** Says which page a user saw. */
export type PageCall = Identity &
  CommonFields & {
    readonly name?: string | null | undefined;
    readonly category?: string | null | undefined;
    /** Sent as `properties`, as the Go library does (spec 2.3). */
    readonly traits?: PageProperties | null | undefined;
    /** Merged over `traits`. */
    readonly properties?: PageProperties | null | undefined;
  };

/** Says which screen of an app a user saw. */
export type ScreenCall = Identity &
  CommonFields & {
    readonly name?: string | null | undefined;
    readonly category?: string | null | undefined;
    readonly properties?: object | null | undefined;
  };

/** Puts a user into a group: a company, a team, an account. */
export type GroupCall = Identity &
  CommonFields & {
    /** The group's id. Required. */
    readonly groupId: string;
    readonly traits?: object | null | undefined;
  };

/** Gives a user a new id: events so far under `previousId` and events from now on under `userId` belong to one user. */
export type AliasCall = CommonFields & {
  /** The new id. Required. */
  readonly userId: string;
  /** The id to alias from. Required. */
  readonly previousId: string;
  readonly anonymousId?: string | null | undefined;
};

/** The call of each type. */
export interface Calls {
  readonly identify: IdentifyCall;
  readonly track: TrackCall;
  readonly page: PageCall;
  readonly screen: ScreenCall;
  readonly group: GroupCall;
  readonly alias: AliasCall;
}

/**
 * A call that follows the rules, with its id and time filled in: what a client sends, a server stores and a sender forwards.
 * Absent fields are absent or `undefined`, never `null`.
 */
export interface RecordedCall {
  readonly type: CallType;
  readonly messageId: string;
  /** ISO 8601 in UTC with milliseconds. */
  readonly timestamp: string;
  readonly userId?: string | undefined;
  readonly anonymousId?: string | undefined;
  readonly event?: string | undefined;
  readonly groupId?: string | undefined;
  readonly previousId?: string | undefined;
  readonly name?: string | undefined;
  readonly category?: string | undefined;
  readonly properties?: object | undefined;
  readonly traits?: object | undefined;
  readonly context?: object | undefined;
  readonly integrations?: object | undefined;
}
