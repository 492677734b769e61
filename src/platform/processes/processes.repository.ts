import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../database/database.js';
import type { Tx } from '../database/transactions.js';

export interface ProcessIdentity {
  readonly id: string;
  readonly role: string;
  readonly hostname: string;
  readonly version: string;
}

/** What a process hears when it beats. */
export interface Beat {
  /** When a probe was last asked for; null: never. */
  readonly probeAskedAt: string | null;
  /** What the time is for the database. */
  readonly now: Date;
}

export interface Census {
  readonly api: number;
  readonly worker: number;
  readonly lost: number;
}

export type PreviousExit = 'clean' | 'crash' | 'unknown';

/** All SQL of the processes room. */
@Injectable()
export class ProcessesRepository {
  /** Registers a process, or brings back one whose row was cleaned up while it was paused. */
  async register(tx: Tx, { id, role, hostname, version }: ProcessIdentity): Promise<void> {
    await sql`
      insert into processes (id, role, hostname, version) values (${id}, ${role}, ${hostname}, ${version})
      on conflict (id) do update set heartbeat_at = now(), stopped_at = null`.execute(tx);
  }

  /** Beats; undefined when the process is not registered. */
  async beat(tx: Tx, id: string): Promise<Beat | undefined> {
    const { rows } = await sql<Beat>`
      update processes set heartbeat_at = now() where id = ${id}
      returning probe_requested_at::text as "probeAskedAt", clock_timestamp() as now`.execute(tx);
    return rows[0];
  }

  async stop(tx: Tx, id: string): Promise<void> {
    await sql`update processes set stopped_at = now() where id = ${id}`.execute(tx);
  }

  /** Processes that have not stopped have died: what they had need not wait until their beats are missed. */
  async bury(tx: Tx): Promise<void> {
    await sql`
      update processes set heartbeat_at = least(heartbeat_at, now() - interval '11 seconds') where stopped_at is null`.execute(tx);
  }

  /** How the last process of a working role ended: those that are still alive do not count. */
  async previousExit(tx: Tx): Promise<PreviousExit> {
    const { rows } = await sql<{ clean: boolean }>`
      select stopped_at is not null as clean from processes
      where role in ('all', 'worker') and (stopped_at is not null or heartbeat_at < now() - interval '10 seconds')
      order by coalesce(stopped_at, heartbeat_at) desc limit 1`.execute(tx);
    return rows[0] === undefined ? 'unknown' : rows[0].clean ? 'clean' : 'crash';
  }

  /** Who answers and who works; one that does both is in both. `lost`: died without a word in the last ten minutes. */
  async census(db: Kysely<Database>): Promise<Census> {
    const { rows } = await sql<Census>`
      select (count(*) filter (where alive and role in ('api', 'all')))::int as api,
        (count(*) filter (where alive and role in ('worker', 'all')))::int as worker, (count(*) filter (where not alive))::int as lost
      from (select role, heartbeat_at >= now() - interval '10 seconds' as alive from processes
        where stopped_at is null and heartbeat_at > now() - interval '10 minutes') p`.execute(db);
    return rows[0]!;
  }

  /** Forgets processes that have been gone for a day, but never the last one: it says how the previous run ended. */
  async purge(tx: Tx): Promise<void> {
    await sql`
      delete from processes where coalesce(stopped_at, heartbeat_at) < now() - interval '1 day'
        and id <> (select id from processes where role in ('all', 'worker') order by heartbeat_at desc limit 1)`.execute(tx);
  }
}
