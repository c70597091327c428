/** For how many milliseconds some work uses a core of this process, which is the same on a machine that has other work. */
export async function coreMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
