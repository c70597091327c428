import type { StoreContext } from "@countersign/sender/store";
import type { Dispatcher } from "../delivery/dispatcher.ts";
import type { Lanes } from "../delivery/lanes.ts";
import type { SettingsTable } from "../tables/settings-table.ts";
import type { Bulletin, BulletinListener } from "../workers/bulletin.ts";
import type { News } from "../workers/gathered-news.ts";
import type { Membership, MembershipListener } from "../workers/membership.ts";
import type { Remarks } from "../workers/remarks.ts";
import type { HeartbeatRow } from "../workers/worker-statements.ts";
import type { KnownClaim } from "../workers/worker-table.ts";
import type { Lookout } from "./lookout.ts";
import type { Maintenance } from "./maintenance.ts";

/** The parts that hear of something. */
export interface ReactionsOptions {
  readonly context: StoreContext;
  readonly settings: SettingsTable;
  readonly membership: Membership;
  readonly bulletin: Bulletin;
  readonly remarks: Remarks;
  readonly lanes: Lanes;
  readonly dispatcher: Dispatcher;
  readonly maintenance: Maintenance;
  readonly lookout: Lookout;
  readonly failed: (error: unknown) => void;
}

/** Who is told of what another process tells, and of each heartbeat. What this process does itself, its parts tell the bulletin. */
export class Reactions implements BulletinListener, MembershipListener {
  readonly #parts: ReactionsOptions;

  constructor(parts: ReactionsOptions) {
    this.#parts = parts;
  }

  told(news: News): void {
    const { context, settings, membership, dispatcher } = this.#parts;
    dispatcher.stir((news.stirred ?? []).map(([, destination]) => destination));
    for (const id of news.ended ?? []) context.ended(id);
    for (const event of news.events ?? []) context.told(event);
    if (news.list === true) membership.look();
    if (news.settings !== undefined) settings.heard(news.settings);
    if (news.missed === true) this.missed();
  }

  missed(): void {
    this.#parts.dispatcher.stirAll();
    this.#parts.context.missed();
  }

  beaten({ settings: version }: HeartbeatRow): void {
    const { settings, membership, maintenance, dispatcher, lookout, failed } = this.#parts;
    settings.heard(version ?? 0);
    // By a clock that is wrong, everything may look as if it were outdated.
    if (membership.unsafe === undefined) maintenance.run().catch(failed);
    void dispatcher.giveBackLate();
    lookout.look();
  }

  mayClaimMore(): void {
    this.#parts.dispatcher.stirAll();
  }

  listChanged(): void {
    this.#parts.bulletin.tell({ list: true });
  }

  isWithinShares(): boolean {
    return this.#parts.lanes.isWithinShares();
  }

  claimed(): readonly KnownClaim[] {
    return this.#parts.lanes.claimed();
  }

  remark(): string | undefined {
    return this.#parts.remarks.current();
  }
}
