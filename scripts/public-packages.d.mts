/** A public package of the repository. */
export interface PublicPackage {
  readonly name: string;
  readonly folder: string;
  readonly manifest: {
    readonly name: string;
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  };
}

export function publicPackages(root?: string): readonly PublicPackage[];
