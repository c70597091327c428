import { spawnSync } from "node:child_process";

/** Tests of scripts for bash are skipped without it, as on Alpine. */
export const hasBash: boolean = spawnSync("bash", ["-c", "exit"]).status === 0;

/** Why they are skipped, for the end of their titles. */
export const noBash: string = hasBash ? "" : " (skipped: this machine has no bash)";
