/** As much is remembered, of all the hosts that customers may think of. */
const MOST = 10_000;

/** What was last found out about hosts, by name or address; the oldest is forgotten first. */
export class Remembered<Fact> {
  readonly #facts = new Map<string, Fact>();

  get(host: string): Fact | undefined {
    return this.#facts.get(host);
  }

  note(host: string, fact: Fact): void {
    this.#facts.delete(host);
    this.#facts.set(host, fact);
    if (this.#facts.size <= MOST) return;
    const [oldest] = this.#facts.keys();
    if (oldest !== undefined) this.#facts.delete(oldest);
  }

  forget(host: string): void {
    this.#facts.delete(host);
  }
}
