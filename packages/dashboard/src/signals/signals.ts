/** A value that can be read. What is drawn or computed from it follows its changes. */
export interface ReadonlySignal<T> {
  readonly value: T;
}

/** A value that can be read and changed. */
export interface Signal<T> {
  value: T;
}

/** What runs again after a change of a signal that it has read. */
interface Effect {
  readonly run: () => void;
  /** The readers of each signal that it has read, among which it is. */
  readonly sources: Set<Set<Effect>>;
}

/** The effect that runs at the moment: it follows what is read meanwhile. */
let reader: Effect | undefined;
/** The effects that run at the end of the outermost {@link batch}. */
let pending: Set<Effect> | undefined;

/** A signal with its first value. */
export function signal<T>(value: T): Signal<T> {
  const readers = new Set<Effect>();
  return {
    get value() {
      if (reader) {
        readers.add(reader);
        reader.sources.add(readers);
      }
      return value;
    },
    set value(next) {
      if (Object.is(value, next)) return;
      value = next;
      batch(() => readers.forEach((effect) => pending?.add(effect)));
    },
  };
}

/** A signal that is made of others, and made anew when one of them changes. */
export function computed<T>(make: () => T): ReadonlySignal<T> {
  const made = signal<T>(undefined as T);
  effect(() => {
    made.value = make();
  });
  return made;
}

/** Runs `action`, and runs it again after each change of a signal that it has read, until the function that it returns is called. */
export function effect(action: () => void): () => void {
  const sources: Effect["sources"] = new Set();
  const stop = (): void => {
    pending?.delete(self);
    for (const readers of sources) readers.delete(self);
    sources.clear();
  };
  const run = (): void => {
    stop();
    runAs(self, action);
  };
  const self: Effect = { run, sources };
  run();
  return stop;
}

/** Runs `action`, and runs it again after each change of `source`, whatever else it reads. */
export function watch(source: ReadonlySignal<unknown>, action: () => void): () => void {
  return effect(() => {
    void source.value;
    runAs(undefined, action);
  });
}

/** Makes several changes as one: effects run after the last of them. */
export function batch(action: () => void): void {
  if (pending) {
    action();
    return;
  }
  pending = new Set();
  try {
    action();
    // Effects can change signals, too: what is added meanwhile runs, too.
    for (const effect of pending) effect.run();
  } finally {
    pending = undefined;
  }
}

function runAs(effect: Effect | undefined, action: () => void): void {
  const outer = reader;
  reader = effect;
  try {
    action();
  } finally {
    reader = outer;
  }
}
