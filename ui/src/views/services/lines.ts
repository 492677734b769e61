import type { Schemas } from '../../api/types.js';

export type Line = Schemas['ServiceLogLine'];
const MOST = 2_000;

/** What a service has written, as its stream tells it. */
export class Lines {
  shown: readonly Line[] = [];
  #anew = false;

  /** The stream begins anew, with the newest lines: also when another page joins it. */
  begin(): void {
    this.#anew = true;
  }

  /** Takes lines that were told. Returns how many of them are new. */
  take(told: readonly Line[]): number {
    // Where nothing is missing in between, what somebody reads stays.
    if (this.#anew && !this.shown.some(({ seq, at }) => seq === told[0]?.seq && at === told[0].at)) this.shown = [];
    this.#anew = false;
    const last = this.shown.at(-1)?.seq ?? -1;
    const fresh = told.filter(({ seq }) => seq > last);
    this.shown = [...this.shown, ...fresh].slice(-MOST);
    return fresh.length;
  }
}
