/** The last sign-out in this browser; in a tab the last one before it got its key. */
export const OUT = 'svc.out';

type Kept = Pick<Storage, 'getItem' | 'setItem'>;

/** Each sign-out is later than those before it: what a browser has not yet told one of its pages is not taken for a sign-out since. */
const timeOf = (out: string): number => Number(out) || 0;

/** What signs out tabs that nobody tells of it: frozen, discarded or elsewhere, they find it when they wake. */
export class SignOuts {
  /** A tab whose storage is full goes on all the same. */
  #last: string | undefined;

  constructor(
    private readonly tab: () => Kept = () => sessionStorage,
    private readonly device: () => Kept = () => localStorage,
  ) {}

  /** Somebody signs out. */
  note(): void {
    try {
      const before = Math.max(timeOf(this.#ofDevice()), timeOf(this.last()));
      this.device().setItem(OUT, String(Math.max(Date.now(), before + 1)));
    } catch {
      // Then those alone hear of it that are awake.
    }
  }

  /**
   * This tab has a key from now on.
   * @param out the last sign-out before that key
   */
  signedIn(out: string = this.#ofDevice()): void {
    this.#last = out;
    try {
      this.tab().setItem(OUT, out);
    } catch {
      // Then it lasts as long as the page.
    }
  }

  /** The last one before the key of this tab. */
  last(): string {
    try {
      return this.#last ?? this.tab().getItem(OUT) ?? '';
    } catch {
      return '';
    }
  }

  /**
   * Whether somebody has signed out in this browser since then. Where it has forgotten all sign-outs nobody has.
   * @param out the last sign-out before a key; before that of this tab, when left out
   */
  since(out: string = this.last()): boolean {
    return timeOf(this.#ofDevice()) > timeOf(out);
  }

  #ofDevice(): string {
    try {
      return this.device().getItem(OUT) ?? '';
    } catch {
      return '';
    }
  }
}

export const signOuts = new SignOuts();
