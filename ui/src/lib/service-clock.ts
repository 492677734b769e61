/** `Date` has whole seconds. */
const SECOND_MS = 1_000;

/**
 * The clock of the service, as its answers tell it. That of a browser may be minutes off, and what the service has written would be of another time.
 * Where the browser may be right, it is believed: nothing goes back and forth for what an answer took.
 */
export class ServiceClock {
  #aheadMs = 0;

  constructor(private readonly browser: () => number) {}

  readonly now = (): number => this.browser() + this.#aheadMs;

  /**
   * An answer has come.
   * @param date when the service gave it
   * @param askedAt by the clock of the browser
   */
  readonly heard = (date: string | null, askedAt: number): void => {
    const told = Date.parse(date ?? '');
    const least = told - this.browser();
    const most = told + SECOND_MS - askedAt;
    // Without a time, or when the clock of the browser was set back meanwhile, it tells nothing.
    if (!(least <= most)) return;
    this.#aheadMs = Math.min(most, Math.max(least, this.#aheadMs));
  };
}

export const serviceClock = new ServiceClock(Date.now);
