/** Milliseconds between looks for room, doubled while there is none. */
const AGAIN_MS = { first: 5, most: 200 };
/** Of what a terminal answers by itself: a program may ask for more than it ever reads. */
const MAX_REPLIES = 4 * 1024;
const NOTHING = Buffer.alloc(0);

/** What is pressed, in order, as fast as the program takes it: one that does not read keeps nothing waiting but this. */
export class Keys {
  #left = NOTHING;
  /** Bytes of what nobody has pressed, since all of it was taken last. */
  #replied = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param take tells of how many bytes the program has room for, and gives it those; it never waits */
  constructor(private readonly take: (keys: Buffer) => number) {}

  /** Bytes that the program has not had room for yet. */
  get waiting(): number {
    return this.#left.length;
  }

  press(keys: string): void {
    this.#left = Buffer.concat([this.#left, Buffer.from(keys)]);
    if (this.#timer === undefined) this.#give(AGAIN_MS.first);
  }

  /** What nobody has pressed is left out where too much of it waits. */
  reply(keys: string): void {
    const bytes = Buffer.byteLength(keys);
    if (this.#replied + bytes > MAX_REPLIES) return;
    this.#replied += bytes;
    this.press(keys);
  }

  /** Takes back what the program has not had room for. */
  drop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#left = NOTHING;
    this.#replied = 0;
  }

  #give(pause: number): void {
    const taken = this.take(this.#left);
    if (taken >= this.#left.length) return this.drop();
    this.#left = this.#left.subarray(taken);
    const next = taken > 0 ? AGAIN_MS.first : Math.min(2 * pause, AGAIN_MS.most);
    this.#timer = setTimeout(() => this.#give(next), next).unref();
  }
}
