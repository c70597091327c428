/** What every call may carry. */
export interface CommonFields {
  /** The user's ID in the customer's system. */
  readonly userId?: string | null | undefined;
  /** ID of a user who is not known yet. */
  readonly anonymousId?: string | null | undefined;
  /** When it happened: a Date or ISO 8601. Give it to import past data. Default: the sender's time. */
  readonly timestamp?: Date | string | null | undefined;
  /** Device, IP address and similar information about the user. */
  readonly context?: Readonly<Record<string, unknown>> | null | undefined;
  /** Destinations turned on or off by name: `{ All: false, Webhooks: true }` (spec section 6). */
  readonly integrations?: Readonly<Record<string, unknown>> | null | undefined;
  /** Identifies the message. Default: a new id. */
  readonly messageId?: string | null | undefined;
}

/** Free-form names and values. Anything that JSON can carry. */
type Fields = Readonly<Record<string, unknown>>;

/** Says who a user is. */
export interface IdentifyCall extends CommonFields {
  readonly traits?: Fields | null | undefined;
}

/** Says what a user did. */
export interface TrackCall extends CommonFields {
  /** Name of the event. */
  readonly event: string;
  readonly properties?: Fields | null | undefined;
}

/** Says which page a user saw. */
export interface PageCall extends CommonFields {
  readonly name?: string | null | undefined;
  readonly category?: string | null | undefined;
  /** `path`, `referrer`, `title`, `url` and others. */
  readonly properties?: Fields | null | undefined;
}

/** Says which screen of an app a user saw. */
export interface ScreenCall extends CommonFields {
  readonly name?: string | null | undefined;
  readonly category?: string | null | undefined;
  readonly properties?: Fields | null | undefined;
}

/** Says which group a user belongs to. */
export interface GroupCall extends CommonFields {
  /** ID of the group. */
  readonly groupId: string;
  readonly traits?: Fields | null | undefined;
}

/** Says that two IDs are one user. */
export interface AliasCall extends CommonFields {
  /** The new ID. */
  readonly userId: string;
  /** The ID to alias from. */
  readonly previousId: string;
}

/** The call of each message type. */
export interface Calls {
  identify: IdentifyCall;
  track: TrackCall;
  page: PageCall;
  screen: ScreenCall;
  group: GroupCall;
  alias: AliasCall;
}

/** Which source a call belongs to. Needed when there are several. */
export interface CallOptions {
  /** Name of the source. */
  readonly source?: string | undefined;
  /** Write key of the source. */
  readonly writeKey?: string | undefined;
}
