/** One thing that is wrong with settings. */
export interface SettingsIssue {
  /** Where: `sources[0].destinations[0].endpoints[1].url`. */
  readonly path: string;
  /** The same in words: `source "shop", destination "webhooks", endpoint 2`. */
  readonly where: string;
  /** What is wrong, and what to do. */
  readonly problem: string;
}

/** Settings that are not valid. The message names everything that is wrong. */
export class SettingsError extends TypeError {
  override readonly name = "SettingsError";
  /** Stable, for programs. */
  readonly code = "ERR_SETTINGS";
  /** Everything that is wrong. */
  readonly issues: readonly SettingsIssue[];

  constructor(issues: readonly SettingsIssue[]) {
    const lines = issues.map(
      ({ path, where, problem }) => `- ${where === "" ? path : `${where}: ${path}`} ${problem}`,
    );
    super(`The sender's settings are not valid.\n${lines.join("\n")}`);
    this.issues = issues;
  }
}

/** Another process has changed the shared settings since they were read. */
export class SettingsChangedError extends Error {
  override readonly name = "SettingsChangedError";
  /** Stable, for programs. */
  readonly code = "ERR_SETTINGS_CHANGED";
}
