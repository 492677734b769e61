import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db, PgPool } from '../../../platform/database/database.js';
import { GatheredReads } from '../../../platform/database/gathered-reads.js';
import { SHOWN, type ToldView } from './session-views.repository.js';

/** A session with the head of its city's log, in one snapshot. */
export type SessionAtHead = ToldView & { readonly head: number };

/** Each is looked up by its keys, whatever the planner thinks of tables that were small when it planned: hence laterals. */
const SESSIONS = sql`
  select asked.nth, (select e.head from event_streams e where e.id = s.stream_id) as head, ${SHOWN},
    null::text as output, r.revision as config_revision, r.hash as config_hash
  from unnest((select $1::text[]), (select $2::text[])) with ordinality as asked(city, id, nth)
  cross join lateral (select c.stream_id from cities c where c.name = asked.city and c.running limit 1) y
  cross join lateral (select s.* from sessions s where s.stream_id = y.stream_id and s.id = asked.id limit 1) s
  cross join lateral (select l.* from session_logs l where l.session_pk = s.pk limit 1) l
  left join lateral (select c.revision from config_states c where c.stream_id = y.stream_id limit 1) c on true
  left join lateral (select r.revision, r.hash from config_revisions r where r.stream_id = y.stream_id and r.revision = c.revision limit 1) r on true`;

/** Sessions by their ids, as requests of all cities ask for them. */
@Injectable()
export class SessionByIdRepository {
  readonly #sessions: GatheredReads<string, SessionAtHead>;

  constructor(db: Db, pool: PgPool) {
    const { sql: text } = SESSIONS.compile(db);
    this.#sessions = new GatheredReads<string, SessionAtHead>(
      async (keys) => {
        const asked = keys.map((key) => key.split(' ', 2) as [city: string, id: string]);
        const values = [asked.map(([city]) => city), asked.map(([, id]) => id)];
        const { rows } = await pool.query<SessionAtHead & { nth: number }>({ name: 'sessions', text, values });
        return rows.map((row) => [keys[row.nth - 1]!, row] as const);
      },
      { most: 50, lanes: 2 },
    );
  }

  /** Of a running city; undefined where there is none. `id` may be any text. */
  async find(city: string, id: string): Promise<SessionAtHead | undefined> {
    // No id has a space, and what comes after it would be left out.
    return id === '' || /[\s\0]/.test(id) || !id.isWellFormed() ? undefined : this.#sessions.read(`${city} ${id}`);
  }
}
