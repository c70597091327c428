import manifest from "../../../package.json" with { type: "json" };

/** Address of the repository, as the root package.json names it; undefined until there is a public one. */
export const repository: string | undefined = manifest.homepage || undefined;
