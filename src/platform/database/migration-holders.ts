import { sql } from 'kysely';
import { createDb, createPool, type Db } from './database.js';

/** What the connections of the migrate step are called. */
export const MIGRATE = 'svc-migrate';

interface Holder {
  readonly pid: number;
  readonly application: string;
  readonly user: string;
  /** The three are null of users whose statements this one may not see. */
  readonly state: string | null;
  readonly transaction_s: number | null;
  readonly statement_s: number | null;
}

/**
 * Who holds the locks that a migration waits for. PostgreSQL can tell it only while the migration waits, so it is asked then, over a connection of its own. A
 * migration that is done at once opens none.
 */
export class Holders {
  readonly #timer: NodeJS.Timeout;
  #db: Db | undefined;
  #asking: Promise<void> | undefined;
  #seen: readonly Holder[] = [];
  #told = '';

  constructor(
    private readonly url: string,
    lookMs: number,
  ) {
    this.#timer = setInterval(() => void (this.#asking ??= this.#ask().finally(() => (this.#asking = undefined))), lookMs).unref();
  }

  /** The holders that were seen last, in words for an operator. Undefined when there were none, or when these were told before, unless `again`. */
  told(again: boolean): string | undefined {
    const told = this.#seen.map(({ pid, application, user }) => `${pid} ${application} ${user}`).join();
    if (told === '' || (told === this.#told && !again)) return undefined;
    this.#told = told;
    return this.#seen.map(shown).join('; ');
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#asking;
    await this.#db?.destroy();
  }

  async #ask(): Promise<void> {
    try {
      this.#db ??= createDb(createPool(this.url, { max: 1, applicationName: MIGRATE }));
      const { rows } = await sql<Holder>`
        select distinct h.pid, coalesce(h.application_name, '') as application, coalesce(h.usename, '')::text as user, h.state,
          extract(epoch from clock_timestamp() - h.xact_start)::int as transaction_s,
          extract(epoch from clock_timestamp() - h.query_start)::int as statement_s
        from pg_stat_activity w, unnest(pg_blocking_pids(w.pid)) p, pg_stat_activity h
        where w.datname = current_database() and w.application_name = ${MIGRATE} and w.wait_event_type = 'Lock' and h.pid = p
          and h.application_name is distinct from ${MIGRATE}
        order by h.pid limit 5`.execute(this.#db);
      if (rows.length > 0) this.#seen = rows;
    } catch {
      // The message is written all the same, without the holders.
    }
  }
}

function shown({ pid, application, user, state, transaction_s, statement_s }: Holder): string {
  const who = `process ${pid} of the database${application === '' ? '' : ` (${application}, user ${user})`}`;
  const ages =
    transaction_s === null
      ? ''
      : `, in a transaction for ${transaction_s} s, ${state ?? 'at work'}, its statement began ${statement_s ?? 0} s ago`;
  return `${who}${ages}; \`select pg_terminate_backend(${pid})\` ends it`;
}
