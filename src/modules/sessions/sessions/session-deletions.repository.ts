import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';

const BATCH = 20;

/** Removes the records of closed sessions that were asked to be deleted, with everything that was said in them. */
@Injectable()
export class SessionDeletionsRepository {
  constructor(private readonly db: Db) {}

  readonly isDue = sql<boolean>`exists (select from sessions where state = 'closed' and delete_pending)`;

  /** True when it is gone, whoever did it. Its turns go with it: the sums of what its city has used say that they are not all. */
  async delete(pk: number): Promise<boolean> {
    await sql`
      with gone as (delete from sessions where pk = ${pk} and state = 'closed' and delete_pending returning pk),
      entries as (delete from session_entries e using gone g where e.session_pk = g.pk)
      insert into usage_cities as u (stream_id, removed_until)
      select t.stream_id, max(t.ended_at) from gone g join session_turns t on t.session_pk = g.pk where t.ended_at is not null group by t.stream_id
      on conflict (stream_id) do update set removed_until = excluded.removed_until
        where u.removed_until is null or u.removed_until < excluded.removed_until`.execute(this.db);
    const { rows } = await sql`select 1 from sessions where pk = ${pk}`.execute(this.db);
    return rows.length === 0;
  }

  /** Has sessions of a city deleted that were closed so long ago. Answers which. */
  async mark(streamId: number, olderMs: number, limit: number): Promise<number[]> {
    const { rows } = await sql<{ pk: number }>`
      update sessions set delete_pending = true where pk in (
        select pk from sessions where stream_id = ${streamId} and state = 'closed' and not delete_pending
          and closed_at < clock_timestamp() - ${olderMs} * interval '1 millisecond'
        order by created_at, pk limit ${limit} for update skip locked)
      returning pk`.execute(this.db);
    return rows.map(({ pk }) => pk);
  }

  async sweep(signal?: AbortSignal): Promise<number> {
    const { rows } = await sql<{ pk: number }>`
      select pk from sessions where state = 'closed' and delete_pending limit ${BATCH}`.execute(this.db);
    let deleted = 0;
    for (const { pk } of rows) {
      if (signal?.aborted === true) break;
      if (await this.delete(pk)) deleted++;
    }
    return deleted;
  }
}
