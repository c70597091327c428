/** Tests that need a POSIX system are skipped here. */
export const isWindows: boolean = process.platform === "win32";

/** Why they are skipped, for the end of their titles. */
export const noPosix: string = isWindows
  ? " (skipped: Windows lacks sh, groups of processes, signals that can be handled, file modes, links for everyone, or moving what is open)"
  : "";
