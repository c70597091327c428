/** The next process warning with a code: others may come before it. */
export function nextWarning(code: string): Promise<Error> {
  return new Promise((resolve) => {
    const listener = (warning: NodeJS.ErrnoException): void => {
      if (warning.code !== code) return;
      process.off("warning", listener);
      resolve(warning);
    };
    process.on("warning", listener);
  });
}
