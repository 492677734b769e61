import { sql } from 'kysely';
import type { Db } from './database.js';

/** So often all is looked at anew: a city that runs again has what came due while it did not. */
const ALL_MS = 30_000;
/** Before all that is due, as `timestamptz` and as text. */
const START = '0001-01-01T00:00:00.000Z';

/**
 * Up to when all that is due was found to be of cities that do not run. The next look begins behind it, or each would read all of that
 * again, once a second. In a condition of `DuePoller` it stands as a value, which the driver asks for each time: a moment in UTC, as text.
 */
export class PassedOver {
  #until = START;
  #since = -Infinity;

  constructor(private readonly allMs = ALL_MS) {}

  /** Where a look begins. */
  from(): string {
    return performance.now() - this.#since < this.allMs ? this.#until : START;
  }

  toPostgres(): string {
    return this.from();
  }

  /** A look that began at `from` has found nothing. The last minute is not passed over: what came due in it may have been committed just now. */
  async foundNothing(db: Db, from: string): Promise<void> {
    const { rows } = await sql<{ until: string }>`
      select to_char((now() - interval '1 minute') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as until`.execute(db);
    if (from === START) this.#since = performance.now();
    this.#until = rows[0]!.until;
  }
}
