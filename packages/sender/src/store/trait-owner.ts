/** The owner of a trait's name. Two names may have one snake_case form; only the first may use it. */
export interface TraitOwner {
  readonly kind: "audience" | "computed trait";
  /** The name as it was given to the sync. */
  readonly name: string;
}
