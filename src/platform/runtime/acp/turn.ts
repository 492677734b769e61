/** A prompt that has been sent, until its answer. */
export class Turn {
  wasCancelled = false;
  #accepted = false;
  #end!: () => void;
  readonly ended = new Promise<void>((resolve) => (this.#end = resolve));
  readonly #timer: NodeJS.Timeout;

  /** @param acceptedMs without an error: an agent that thinks has the prompt. */
  constructor(
    private readonly onAccepted: () => void,
    acceptedMs: number,
  ) {
    this.#timer = setTimeout(() => this.showsLife(), acceptedMs);
  }

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
