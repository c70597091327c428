/** Loads a file and uses it. Where a bundler has left the other files out, import() may throw at once: then it is done without. */
export async function useOnDemand<Loaded>(
  load: () => Promise<Loaded>,
  use: (loaded: Loaded) => void,
): Promise<void> {
  try {
    use(await load());
  } catch {}
}
