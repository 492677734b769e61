import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db, PgPool } from '../../../platform/database/database.js';
import { KeptReads, versionText, type Versioned } from '../../../platform/database/kept-reads.js';
import { BESIDE_ROW, SHOWN, type ToldView } from './session-views.repository.js';

/** A session with the head of its city's log, in one snapshot. */
export type SessionAtHead = ToldView & { readonly head: number };

interface Asked extends Versioned {
  /** Its place among those that were asked for, from 1. */
  readonly nth: number;
}
type WholeSession = Asked & SessionAtHead;
/** What its row does not have. */
type SeenSession = Asked &
  Pick<
    SessionAtHead,
    | 'head'
    | 'now'
    | 'activity'
    | 'model'
    | 'context_used'
    | 'context_window'
    | 'active_bead'
    | 'nudged_at'
    | 'config_revision'
    | 'config_hash'
  >;

/** Each is looked up by its keys, whatever the planner thinks of tables that were small when it planned: hence laterals. */
const asked = (columns: RawBuilder<unknown>, ofRow: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select asked.nth, (select e.head from event_streams e where e.id = s.stream_id) as head, ${columns}, s.version,
    r.revision as config_revision, r.hash as config_hash
  from unnest((select $1::text[]), (select $2::text[])) with ordinality as asked(city, id, nth)
  cross join lateral (select c.stream_id from cities c where c.name = asked.city and c.running limit 1) y
  cross join lateral (select ${ofRow}, ${sql.raw(versionText('s'))} as version from sessions s where s.stream_id = y.stream_id and s.id = asked.id limit 1) s
  cross join lateral (select l.activity, l.model, l.context_used, l.context_window from session_logs l where l.session_pk = s.pk limit 1) l
  left join lateral (select c.revision from config_states c where c.stream_id = y.stream_id limit 1) c on true
  left join lateral (select r.revision, r.hash from config_revisions r where r.stream_id = y.stream_id and r.revision = c.revision limit 1) r on true`;

/** Sessions by their ids, as requests of all cities ask for them. */
@Injectable()
export class SessionByIdRepository {
  readonly #sessions: KeptReads<string, WholeSession, SeenSession>;

  constructor(
    db: Db,
    private readonly pool: PgPool,
  ) {
    const { sql: seen } = asked(BESIDE_ROW, sql`s.pk, s.stream_id, s.id`).compile(db);
    const { sql: whole } = asked(sql`${SHOWN}, null::text as output`, sql`s.*`).compile(db);
    this.#sessions = new KeptReads(
      {
        seen: (keys) => this.#read<SeenSession>('sessions-seen', seen, keys),
        whole: (keys) => this.#read<WholeSession>('sessions', whole, keys),
        bytes: (row) => JSON.stringify(row).length,
      },
      { most: 50, lanes: 2 },
    );
  }

  /** Of a running city; undefined where there is none. `id` may be any text. */
  async find(city: string, id: string): Promise<SessionAtHead | undefined> {
    // No id has a space, and what comes after it would be left out.
    return id === '' || /[\s\0]/.test(id) || !id.isWellFormed() ? undefined : this.#sessions.read(`${city} ${id}`);
  }

  async #read<Row extends Asked>(name: string, text: string, keys: readonly string[]): Promise<(readonly [string, Row])[]> {
    const parts = keys.map((key) => key.split(' ', 2) as [city: string, id: string]);
    const { rows } = await this.pool.query<Row>({ name, text, values: [parts.map(([city]) => city), parts.map(([, id]) => id)] });
    return rows.map((row) => [keys[row.nth - 1]!, row] as const);
  }
}
