/** How long requests wait for runners, in milliseconds. Tests set their own. */
export class SessionTimings {
  readonly confirmMs: number;
  readonly interruptMs: number;

  constructor({ confirmMs = 20_000, interruptMs = 15_000 }: Partial<SessionTimings> = {}) {
    this.confirmMs = confirmMs;
    this.interruptMs = interruptMs;
  }
}
