/** Why an attempt got no answer: the text of its code. */
export interface NoAnswer {
  /** The event, as the end of a sentence that starts with the endpoint. */
  readonly words: string;
  /** The usual cause. */
  readonly cause: string;
  /** What to do. */
  readonly fix: string;
}
