/** The parts of Node's `process` that the runtime has: none in a browser or a worker. */
interface MaybeProcess {
  readonly process?: {
    readonly env?: Readonly<Record<string, string | undefined>>;
    readonly emitWarning?: (warning: string, options: { code: string }) => void;
  };
}

/** An environment variable, where the runtime has them. */
export function environmentVariable(name: string): string | undefined {
  return (globalThis as MaybeProcess).process?.env?.[name];
}

/** Emits a process warning, where the runtime has them. */
export function emitWarning(message: string, code: string): void {
  (globalThis as MaybeProcess).process?.emitWarning?.(message, { code });
}
