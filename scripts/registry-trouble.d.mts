export function withRegistry<T>(install: () => Promise<T>, problemOf: (outcome: T) => string): Promise<T>;
