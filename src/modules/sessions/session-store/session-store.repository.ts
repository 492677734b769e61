import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { ProblemError, problem } from '../../../contract/problems.js';
import { storable, storableText } from '../../../contract/storable.js';
import { databaseTime } from '../../../platform/database/clock.js';
import type { Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { NOW, SESSION_ROW, type NameKind, type NewSession, type SessionPatch, type SessionRow } from './session-row.js';
import type { SessionState } from './session-states.js';

const JSON_COLUMNS = new Set<string>(['options', 'option_schema', 'capabilities', 'metadata', 'launch_parts', 'launch_options']);
const ARRAY_COLUMNS = new Map<string, string>([
  ['past_aliases', 'text[]'],
  ['crashes', 'timestamptz[]'],
  ['restarts', 'timestamptz[]'],
  ['losses', 'timestamptz[]'],
]);

/** SQL of everybody who writes sessions. Reads that answer requests are the families' own. */
@Injectable()
export class SessionStore {
  async find(db: Kysely<Database>, streamId: number, pk: number): Promise<SessionRow | undefined> {
    const { rows } = await sql<SessionRow>`select ${SESSION_ROW} from sessions s where s.pk = ${pk} and s.stream_id = ${streamId}`.execute(
      db,
    );
    return rows[0];
  }

  async lock(tx: Tx, streamId: number, pk: number): Promise<SessionRow | undefined> {
    const { rows } = await sql<SessionRow>`
      select ${SESSION_ROW} from sessions s where s.pk = ${pk} and s.stream_id = ${streamId} for no key update`.execute(tx);
    return rows[0];
  }

  /** As `lock`; undefined also where somebody else has it. */
  async tryLock(tx: Tx, streamId: number, pk: number): Promise<SessionRow | undefined> {
    const { rows } = await sql<SessionRow>`
      select ${SESSION_ROW} from sessions s where s.pk = ${pk} and s.stream_id = ${streamId} for no key update skip locked`.execute(tx);
    return rows[0];
  }

  /** Those of them that are there, locked in the order of their pk. */
  async lockAll(tx: Tx, streamId: number, pks: readonly number[]): Promise<void> {
    await sql`
      select from sessions s where s.stream_id = ${streamId} and s.pk = any(${[...pks]}::bigint[]) order by s.pk for no key update`.execute(
      tx,
    );
  }

  /**
   * The names of the city's sessions until the commit: whoever gives one has them alone, after the sessions that he has and before the number of
   * one that he makes. Whoever only gives up those of a session that he has does without. Advisory class 5.
   */
  async lockNames(tx: Tx, streamId: number): Promise<void> {
    await sql`select pg_advisory_xact_lock(5, ${streamId})`.execute(tx);
  }

  /** The clock by which runners see that a time is over. */
  now(tx: Tx): Promise<Date> {
    return databaseTime(tx);
  }

  /** False when the city does not run. */
  async cityRuns(tx: Tx, streamId: number): Promise<boolean> {
    const { rows } = await sql`select 1 from cities c where c.stream_id = ${streamId} and c.running`.execute(tx);
    return rows.length === 1;
  }

  /** With its log and its names. @throws ProblemError conflict when a name is taken. */
  async insert(tx: Tx, streamId: number, s: NewSession): Promise<SessionRow> {
    const { rows } = await sql<SessionRow & { taken: string[] | null }>`
      with names as materialized (select pg_advisory_xact_lock(5, ${streamId})),
      made as materialized (select next_bead_id(${streamId}, '') as id from names),
      s as (
        insert into sessions as s (stream_id, id, session_name, alias, title, kind, template, agent, agent_name, slot, rig, provider, preset,
          transport, origin, named_identity, created_by, state, reason, options, metadata, work_dir, wake_request, wake_requested_at)
        select ${streamId}, m.id, coalesce(${s.session_name ?? null}::text, 's-' || replace(m.id, '/', '--')), ${s.alias ?? ''}, ${s.title}, ${s.kind},
          ${s.template}, ${s.agent ?? null}, ${s.agent_name ?? null}, ${s.slot ?? null}::int, ${s.rig ?? ''}, ${s.provider}, ${s.preset ?? null},
          ${s.transport}, ${s.origin}, ${s.named_identity ?? null}, ${s.created_by}, ${s.state ?? 'start-pending'},
          ${s.reason ?? null}::text, ${JSON.stringify(s.options ?? {})}::jsonb,
          ${JSON.stringify(s.metadata ?? {})}::jsonb, ${s.work_dir ?? null}, ${s.wake_request ?? null}::text,
          case when ${s.wake_request ?? null}::text is not null then clock_timestamp() end
        from made m returning ${SESSION_ROW}
      ),
      logs as (insert into session_logs (session_pk) select s.pk from s),
      wanted as (
        select distinct on (w.name) s.pk, s.stream_id, s.named_identity, w.name, w.kind
        from s, lateral (values (1, s.session_name, 'session_name'), (2, nullif(s.alias, ''), 'alias'),
          (3, case when s.slot is not null then s.agent_name end, 'agent')) w(n, name, kind)
        where w.name is not null order by w.name, w.n
      ),
      given as (${takingNames(sql`select w.stream_id, w.name, w.kind, w.pk from wanted w`, sql`(select s.named_identity from s)`)})
      select ${SESSION_ROW}, (select array_agg(w.name) from wanted w where w.name not in (select g.name from given g)) as taken from s`.execute(
      tx,
    );
    const { taken, ...row } = rows[0]!;
    if (taken !== null) throw nameTaken(taken[0]!);
    return row;
  }

  /**
   * Gives a name to a session. A configured identity that nobody bears is taken by the session that is made for it.
   *
   * @throws ProblemError conflict when somebody else has it.
   */
  async takeName(tx: Tx, row: Pick<SessionRow, 'pk' | 'stream_id' | 'named_identity'>, name: string, kind: NameKind): Promise<void> {
    const given = takingNames(
      sql`values (${row.stream_id}::int, ${name}, ${kind}, ${row.pk}::bigint)`,
      sql`${row.named_identity ?? null}::text`,
    );
    if ((await given.execute(tx)).rows.length === 0) throw nameTaken(name);
  }

  async releaseName(tx: Tx, row: Pick<SessionRow, 'pk' | 'stream_id'>, name: string): Promise<void> {
    await sql`update session_names set session_pk = null
      where stream_id = ${row.stream_id} and name = ${name} and session_pk = ${row.pk} and kind = 'identity'`.execute(tx);
    await sql`delete from session_names
      where stream_id = ${row.stream_id} and name = ${name} and session_pk = ${row.pk} and kind <> 'identity'`.execute(tx);
  }

  /** Frees the names of a session that has ended, the explicit runtime name of an ordinary one excepted. */
  async releaseNames(tx: Tx, row: SessionRow): Promise<void> {
    const keep = row.origin === 'manual' && row.close_code !== 'failed-create' ? row.session_name : null;
    await sql`update session_names set session_pk = null where session_pk = ${row.pk} and kind = 'identity'`.execute(tx);
    await sql`delete from session_names
      where session_pk = ${row.pk} and kind <> 'identity' and (${keep}::text is null or name <> ${keep}::text)`.execute(tx);
  }

  /**
   * Writes columns, with `to` also the state, of a row as it was read and locked; undefined when its state or generation is
   * another by now. The session's log moves on, so that its readers look.
   */
  async update(tx: Tx, row: SessionRow, patch: SessionPatch, to?: SessionState): Promise<SessionRow | undefined> {
    const sets: RawBuilder<unknown>[] = [sql`updated_at = clock_timestamp()`];
    if (to !== undefined) {
      sets.push(sql`state = ${to}`, sql`state_at = clock_timestamp()`);
      if (to === 'closed') sets.push(sql`closed_at = clock_timestamp()`);
    }
    for (const [column, value] of Object.entries(patch)) {
      if (value !== undefined) sets.push(sql`${sql.ref(column)} = ${valueOf(column, value)}`);
    }
    const { rows } = await sql<SessionRow>`
      with s as (
        update sessions s set ${sql.join(sets)}
        where s.pk = ${row.pk} and s.state = ${row.state} and s.generation = ${row.generation} returning ${SESSION_ROW}
      ),
      l as (
        update session_logs l set head = l.head + 1, status_rev = l.head + 1, generation = s.generation,
          activity = case when s.live then l.activity else 'idle' end,
          activity_rev = case when s.live or l.activity = 'idle' then l.activity_rev else l.head + 1 end,
          activity_at = case when s.live or l.activity = 'idle' then l.activity_at else clock_timestamp() end
        from s where l.session_pk = s.pk
      )
      select ${SESSION_ROW} from s`.execute(tx);
    return rows[0];
  }
}

/** A configured identity that nobody bears is taken by the session that is made for it. */
function takingNames(names: RawBuilder<unknown>, identity: RawBuilder<unknown>): RawBuilder<{ name: string }> {
  return sql<{ name: string }>`
    insert into session_names as n (stream_id, name, kind, session_pk) ${names}
    on conflict (stream_id, name) do update set session_pk = excluded.session_pk
      where n.session_pk = excluded.session_pk or (n.session_pk is null and n.name = ${identity})
    returning n.name`;
}

const nameTaken = (name: string): ProblemError => problem('conflict', `the name ${name} is already used by another session of this city`);

function valueOf(column: string, value: unknown): RawBuilder<unknown> {
  if (value === null) return sql`null`;
  if (value === NOW) return sql`statement_timestamp()`;
  if (JSON_COLUMNS.has(column)) return sql`${storable(value)}::jsonb`;
  // A title, or what a process said at its end.
  if (typeof value === 'string') return sql`${storableText(value)}`;
  const array = ARRAY_COLUMNS.get(column);
  return array === undefined ? sql`${value}` : sql`${value}::${sql.raw(array)}`;
}
