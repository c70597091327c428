import { networkInterfaces } from "node:os";

/** Tests of `::1` are skipped where the machine has no such address, as in a container of Docker. */
export const hasIpv6: boolean = Object.values(networkInterfaces())
  .flat()
  .some((one) => one?.address === "::1");

/** Why they are skipped, for the end of their titles. */
export const noIpv6: string = hasIpv6 ? "" : " (skipped: this machine has no address ::1)";
