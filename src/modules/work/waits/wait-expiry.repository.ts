import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { PassedOver } from '../../../platform/database/passed-over.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';

export interface DueWaits {
  readonly city: CityScope;
  readonly ids: readonly string[];
}

const EXPIRES_AT = sql`(b.metadata ->> 'expires_at') collate "C"`;
/** As the index has it. */
const EXPIRES = sql`b.issue_type = 'gate' and b.labels @> '{gc:wait}' and b.metadata ->> 'state' in ('pending', 'ready') 
  and length(b.metadata ->> 'expires_at') = 24`;
const NOW = sql`to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const IS_DUE = sql`${EXPIRES} and ${EXPIRES_AT} <= ${NOW}`;

/** Finds the waits whose time has run out. */
@Injectable()
export class WaitExpiryRepository {
  constructor(private readonly db: Db) {}

  readonly #passed = new PassedOver();

  /** Whether the time of a wait has run out, in whatever city. */
  readonly isDue = sql<boolean>`(select ${EXPIRES_AT} <= ${NOW} from beads b where ${EXPIRES} and ${EXPIRES_AT} > ${this.#passed} order by ${EXPIRES_AT} limit 1)`;

  /** The running city with the wait that is overdue the longest, and up to `limit` such waits of it. `except` are streams to pass over. */
  async nextDue(except: readonly number[], limit: number): Promise<DueWaits | undefined> {
    const from = this.#passed.from();
    const { rows } = await sql<{ id: number; name: string; dir: string; stream_id: number; ids: string[] }>`
      select c.id, c.name, c.dir, c.stream_id, array(
        select b.id from beads b where b.stream_id = c.stream_id and ${IS_DUE} order by (b.metadata ->> 'expires_at') collate "C" limit ${limit}) as ids
      from cities c where c.running and c.stream_id = (
        select b.stream_id from beads b join cities r on r.stream_id = b.stream_id and r.running
        where ${IS_DUE} and ${EXPIRES_AT} > ${from} and b.stream_id <> all(${[...except]}::integer[])
        order by (b.metadata ->> 'expires_at') collate "C" limit 1)`.execute(this.db);
    const row = rows[0];
    if (row === undefined && except.length === 0) await this.#passed.foundNothing(this.db, from);
    return row && { city: { id: row.id, name: row.name, path: row.dir, stream: row.name, streamId: row.stream_id }, ids: row.ids };
  }
}
