const ACCEPTED_MS = 3000;

/** A prompt that has been sent, until its answer. */
export class Turn {
  wasCancelled = false;
  #accepted = false;
  #end!: () => void;
  readonly ended = new Promise<void>((resolve) => (this.#end = resolve));
  /** No error for some seconds: an agent that thinks has the prompt. */
  readonly #timer = setTimeout(() => this.showsLife(), ACCEPTED_MS);

  constructor(private readonly onAccepted: () => void) {}

  showsLife(): void {
    if (this.#accepted) return;
    this.#accepted = true;
    clearTimeout(this.#timer);
    this.onAccepted();
  }

  end(): void {
    this.#accepted = true;
    clearTimeout(this.#timer);
    this.#end();
  }
}
