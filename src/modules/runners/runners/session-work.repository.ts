import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { DEAD } from '../../../platform/processes/dead.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { isOf, type Machine } from './runner.repository.js';

export interface SessionFacts {
  /** By the database's clock. */
  readonly now: Date;
  /** Messages wait, whenever they may be delivered. */
  readonly queued: boolean;
  /** A person is asked something. */
  readonly asks: boolean;
  /** Turns that this process has done to their end. */
  readonly turns: number;
  /** One is going on. */
  readonly inTurn: boolean;
}

/** A message as its turn knows it. */
export interface TurnMessage {
  readonly pk: number;
  readonly id: string;
  readonly body: string;
  readonly source: string;
  readonly sender: string;
  readonly intent: string;
  readonly reference: string | null;
}

/** A session of a runner that is gone, with its city. */
export interface LostSession {
  readonly pk: number;
  readonly generation: number;
  readonly runnerId: string;
  readonly city: CityScope;
}

/** SQL of runners on what belongs to one session. */
@Injectable()
export class SessionWorkRepository {
  async facts(db: Kysely<Database>, pk: number, generation: number): Promise<SessionFacts> {
    const { rows } = await sql<SessionFacts>`
      select clock_timestamp() as now,
        exists (select from session_messages m where m.session_pk = ${pk} and m.status = 'queued' and m.expires_at > clock_timestamp()) as queued,
        exists (select from session_interactions i where i.session_pk = ${pk} and i.status = 'open') as asks,
        (select count(*)::int from session_turns t where t.session_pk = ${pk} and t.generation = ${generation} and t.ended_at is not null
          and t.stop_reason not in ('failed', 'lost')) as turns,
        exists (select from session_turns t where t.session_pk = ${pk} and t.generation = ${generation} and t.ended_at is null) as "inTurn"`.execute(
      db,
    );
    return rows[0]!;
  }

  /** The number of the turn that begins. */
  async nextTurn(tx: Tx, pk: number): Promise<number> {
    const { rows } = await sql<{ turns: number }>`
      update session_logs set turns = turns + 1 where session_pk = ${pk} returning turns`.execute(tx);
    return rows[0]!.turns;
  }

  /** The turn of a process that has begun and not ended, with the message that it is about. */
  async begunTurn(tx: Tx, pk: number, generation: number): Promise<{ number: number; message: TurnMessage | undefined } | undefined> {
    const { rows } = await sql<{ number: number; message: TurnMessage | null }>`
      select t.turn as number, (select to_json(f) from (select m.pk, m.id, m.body, m.source, m.sender, m.intent, m.reference
        from session_messages m where m.session_pk = ${pk} and m.status = 'in_flight' and m.generation = ${generation} limit 1) f) as message
      from session_turns t where t.session_pk = ${pk} and t.generation = ${generation} and t.ended_at is null
      order by t.turn desc limit 1`.execute(tx);
    const row = rows[0];
    return row === undefined ? undefined : { number: row.number, message: row.message ?? undefined };
  }

  /** Whether an entry is in the session's log and complete. */
  async hasEntry(tx: Tx, pk: number, entryId: string): Promise<boolean> {
    const { rows } = await sql`
      select from session_entries where session_pk = ${pk} and entry_id = ${entryId} and status = 'final'`.execute(tx);
    return rows.length === 1;
  }

  /** Answers whether this has ended it. */
  async endCommand(tx: Tx, sessionPk: number, pk: number, error: string | undefined): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update session_commands set status = ${error === undefined ? 'done' : 'failed'}, error = ${error ?? null}, ended_at = clock_timestamp()
      where pk = ${pk} and session_pk = ${sessionPk} and status in ('waiting', 'taken')`.execute(tx);
    return numAffectedRows === 1n;
  }

  /** Commands for a process that is gone. A turn that was to end has ended with it. */
  async failCommands(tx: Tx, sessionPk: number): Promise<void> {
    await sql`
      update session_commands set status = case kind when 'interrupt' then 'done' else 'failed' end,
        error = case kind when 'interrupt' then null else 'the process has ended' end, ended_at = clock_timestamp()
      where session_pk = ${sessionPk} and status in ('waiting', 'taken')`.execute(tx);
  }

  /** Whether the lease of a runner has run out, or one that is gone has sessions. */
  readonly isLost = sql<boolean>`exists (select from runners where state in ('active', 'draining') and lease_until < clock_timestamp())
    or exists (select from runners r join sessions s on s.runner_id = r.id where r.state in ('lost', 'stopped'))`;

  /** Sessions that name a runner which is gone, by number. `except` are streams to pass over. */
  async ofGoneRunners(
    db: Kysely<Database>,
    { after, except, limit }: { readonly after: number; readonly except: readonly number[]; readonly limit: number },
  ): Promise<LostSession[]> {
    const { rows } = await sql<{
      pk: number;
      generation: number;
      runnerId: string;
      id: number | null;
      path: string | null;
      name: string;
      streamId: number;
    }>`
      select s.pk, s.generation, s.runner_id as "runnerId", c.id, c.dir as path, e.name, s.stream_id as "streamId"
      from runners r join sessions s on s.runner_id = r.id
        join event_streams e on e.id = s.stream_id left join cities c on c.stream_id = s.stream_id
      where r.state in ('lost', 'stopped') and s.pk > ${after} and s.stream_id <> all(${[...except]}::bigint[])
      order by s.pk limit ${limit}`.execute(db);
    return rows.map(({ pk, generation, runnerId, id, path, name, streamId }) => ({
      pk,
      generation,
      runnerId,
      city: { id: id ?? 0, name, path: path ?? '', stream: name, streamId },
    }));
  }

  /** What a session is called, and its city with its directory; undefined when it has gone. */
  async placeOf(db: Kysely<Database>, pk: number): Promise<{ readonly id: string; readonly city: CityScope } | undefined> {
    const { rows } = await sql<{ session: string; streamId: number; id: number | null; path: string | null; name: string }>`
      select s.id as session, e.id as "streamId", c.id, c.dir as path, e.name
      from sessions s join event_streams e on e.id = s.stream_id left join cities c on c.stream_id = e.id where s.pk = ${pk}`.execute(db);
    if (rows[0] === undefined) return undefined;
    const { session, streamId, id, path, name } = rows[0];
    return { id: session, city: { id: id ?? 0, name, path: path ?? '', stream: name, streamId } };
  }

  /** Of these sessions those that a runner of the host has. */
  async heldNumbers(db: Kysely<Database>, machine: Machine, sessions: readonly number[]): Promise<Set<number>> {
    const { rows } = await sql<{ pk: number }>`
      select s.pk from runners r join sessions s on s.runner_id = r.id
      where ${isOf(machine)} and s.pk = any(${[...sessions]}::bigint[])`.execute(db);
    return new Set(rows.map(({ pk }) => pk));
  }

  /** Keeps everybody from taking a session until the end of the transaction; false when a runner of the host has it, or somebody is about to change it. */
  async holdIdle(tx: Tx, machine: Machine, session: number): Promise<boolean> {
    const { rows } = await sql<{ held: boolean }>`
      select exists (select from runners r where r.id = s.runner_id and ${isOf(machine)}) as held
      from sessions s where s.pk = ${session} for no key update of s skip locked`.execute(tx);
    if (rows[0] !== undefined) return !rows[0].held;
    const { rows: there } = await sql`select from sessions where pk = ${session}`.execute(tx);
    return there.length === 0;
  }

  /**
   * What somebody has, by `city/session/generation`: that names one start in the whole database, so that it is no matter how the host was called
   * when it was taken. A runner has it until it is taken from it, whatever has become of its lease: if it only was slow, its process ending under
   * it would look to it like a crash.
   *
   * @param sessions the ids of which this is asked
   */
  async held(db: Kysely<Database>, sessions: readonly string[]): Promise<Set<string>> {
    const { rows } = await sql<{ key: string }>`
      select e.name || '/' || s.id || '/' || s.generation as key
      from runners r join sessions s on s.runner_id = r.id join event_streams e on e.id = s.stream_id
      where s.id = any(${[...sessions]}::text[])
      union all
      select e.name || '//' || f.id || '.' || f.attempts from order_firings f join event_streams e on e.id = f.stream_id
      where f.state <> 'done' and f.worker is not null
      union all
      select e.name || '//check-' || c.stream_id || '-' || c.pk || '.' || c.attempts from run_checks c join event_streams e on e.id = c.stream_id
      where c.worker is not null
      union all
      select e.name || '//service-' || v.pk || '.' || v.attempts from services v join event_streams e on e.id = v.stream_id
      where v.worker is not null`.execute(db);
    return new Set(rows.map(({ key }) => key));
  }

  /** Of these processes of the service those that are alive. */
  async alive(db: Kysely<Database>, processes: readonly string[]): Promise<Set<string>> {
    const { rows } = await sql<{ id: string }>`
      select p.id from processes p where p.id = any(${[...processes]}::text[]) and not ${DEAD}`.execute(db);
    return new Set(rows.map(({ id }) => id));
  }
}
