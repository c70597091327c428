export function writeVersions(folder: string): void;
