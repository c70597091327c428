/** Starts a Worker, bundled as for deployment, under workerd. */
export declare function startWorker(
  compatibilityFlags: readonly string[],
  bindings: Readonly<Record<string, string>>,
  options?: { readonly entry?: string; readonly port?: number },
): Promise<{ readonly url: URL; close(): Promise<void> }>;
