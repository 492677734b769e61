import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import { Db, type Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { SessionState } from '../session-store/session-states.js';

/** What a name may mean: a session, a configured identity with or without one, or both. */
export interface Candidate {
  readonly rank: 'id' | 'identity' | 'name' | 'leaf_identity' | 'leaf' | 'closed_name' | 'closed_alias';
  readonly identity: string | null;
  readonly pk: number | null;
  readonly id: string | null;
  readonly state: SessionState | null;
  readonly named_identity: string | null;
  readonly continuity_eligible: boolean | null;
  readonly address: string | null;
}

/** SQL about what sessions are called. */
@Injectable()
export class SessionNamesRepository {
  constructor(private readonly db: Db) {}

  /** Everything that `text` may mean, in the order of its claim to it, closed sessions newest first. */
  async candidates(streamId: number, text: string, closed: boolean): Promise<Candidate[]> {
    const { rows } = await sql<Candidate>`
      select c.rank, c.identity, s.pk, s.id, s.state, s.named_identity, s.continuity_eligible, coalesce(nullif(s.alias, ''), s.session_name) as address
      from (
        select 1 as nth, 'id' as rank, null as identity, s.pk from sessions s where s.stream_id = ${streamId} and s.id = ${text}
        union all
        select case when a.name = ${text} then 2 else 4 end, case when a.name = ${text} then 'identity' else 'leaf_identity' end, a.name, n.session_pk
          from agents a left join session_names n on n.stream_id = a.stream_id and n.name = a.name
          where a.stream_id = ${streamId} and a.named and a.present and (a.name = ${text} or a.base = ${text})
        union all
        select 3, 'name', null, s.pk from session_names n join sessions s on s.pk = n.session_pk and s.state <> 'closed'
          where n.stream_id = ${streamId} and n.name = ${text}
        union all
        select 5, 'leaf', null, s.pk from sessions s
          where s.stream_id = ${streamId} and s.state <> 'closed' and s.alias like '%/%' and substring(s.alias from '[^/]+$') = ${text}
        union all
        select 6, 'closed_name', null, s.pk from sessions s
          where ${closed} and s.stream_id = ${streamId} and s.state = 'closed' and s.session_name = ${text}
        union all
        select 7, 'closed_alias', null, s.pk from sessions s
          where ${closed} and s.stream_id = ${streamId} and s.state = 'closed' and s.alias <> '' and s.alias = ${text}
      ) c left join sessions s on s.pk = c.pk
      order by c.nth, s.closed_at desc nulls last, s.pk desc, c.identity limit 100`.execute(this.db);
    return rows;
  }

  /** Whether the configuration gives this name to a session of its own. */
  async isIdentity(db: Kysely<Database>, streamId: number, name: string): Promise<boolean> {
    const { rows } = await sql`
      select 1 from agents where stream_id = ${streamId} and name = ${name} and named and present`.execute(db);
    return rows.length === 1;
  }

  /** The sessions that bear configured names, as it is committed. */
  async bearers(tx: Tx, streamId: number, identities: readonly string[]): Promise<number[]> {
    const { rows } = await sql<{ pk: number }>`
      select n.session_pk as pk from session_names n
      where n.stream_id = ${streamId} and n.name = any(${[...identities]}::text[]) and n.session_pk is not null`.execute(tx);
    return rows.map(({ pk }) => pk);
  }

  /** Takes the name out of reach of everybody but the session of this identity, and waits for whoever does so too. Answers who has it. */
  async reserve(tx: Tx, streamId: number, identity: string): Promise<number | null> {
    await sql`
      insert into session_names (stream_id, name, kind) values (${streamId}, ${identity}, 'identity') on conflict do nothing`.execute(tx);
    const { rows } = await sql<{ session_pk: number | null }>`
      select session_pk from session_names where stream_id = ${streamId} and name = ${identity} for update`.execute(tx);
    return rows[0]?.session_pk ?? null;
  }

  /** A reservation that nobody bears ends with the configuration that made it. */
  async forgetIdentity(tx: Tx, streamId: number, name: string): Promise<void> {
    await sql`
      delete from session_names n where n.stream_id = ${streamId} and n.name = ${name} and n.kind = 'identity' and n.session_pk is null
        and not exists (select from agents a where a.stream_id = n.stream_id and a.name = n.name and a.named and a.present)`.execute(tx);
  }

  /** All names of a session that goes on without them. */
  async freeAll(tx: Tx, sessionPk: number): Promise<void> {
    await sql`update session_names set session_pk = null where session_pk = ${sessionPk} and kind = 'identity'`.execute(tx);
    await sql`delete from session_names where session_pk = ${sessionPk} and kind <> 'identity'`.execute(tx);
  }
}
