import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Tx } from '../../../platform/database/transactions.js';
import type { SessionRow } from '../session-store/session-row.js';

/** Waits of either kind that one step of a wake ends: the city's other writers wait for it. */
export const AT_ONCE = 100;

/** What a session waits for. */
@Injectable()
export class SessionWaitsRepository {
  /** Its waits that are not over: those that were registered for it, and those for nobody under a name that is its own; those alone that were there at a time. */
  async liveWaits(tx: Tx, row: SessionRow, until?: Date): Promise<string[]> {
    const own = [row.id, row.session_name, row.alias, ...(row.slot === null ? [] : [row.agent_name ?? ''])].filter((name) => name !== '');
    const then = sql`(${until ?? null}::timestamptz is null or b.created_at <= ${until ?? null}::timestamptz)`;
    const { rows } = await sql<{ id: string }>`
      (select b.id from beads b
        where b.stream_id = ${row.stream_id} and b.issue_type = 'gate' and b.status <> 'closed' and b.labels @> '{gc:wait}'
          and b.metadata ->> 'state' in ('pending', 'ready') and length(b.metadata ->> 'registered_session') <= 255
          and (b.metadata ->> 'registered_session') collate "C" = ${row.id} and ${then} limit ${AT_ONCE})
      union
      (select b.id from beads b
        where b.stream_id = ${row.stream_id} and b.issue_type = 'gate' and b.status <> 'closed' and b.labels @> '{gc:wait}'
          and coalesce(b.metadata ->> 'registered_session', '') = ''
          and b.labels && ${own.map((name) => `session:${name}`)}::text[] and ${then} limit ${AT_ONCE})
      order by id`.execute(tx);
    return rows.map(({ id }) => id);
  }

  /** Notes of waits that have not been delivered; those with these nudges alone, when given. */
  async queuedNotes(tx: Tx, sessionPk: number, nudges?: readonly string[]): Promise<number[]> {
    const { rows } = await sql<{ pk: number }>`
      select pk from session_messages where session_pk = ${sessionPk} and status = 'queued' and source = 'wait'
        and (${nudges === undefined} or reference = any(${[...(nudges ?? [])]}::text[])) order by pk`.execute(tx);
    return rows.map(({ pk }) => pk);
  }
}
