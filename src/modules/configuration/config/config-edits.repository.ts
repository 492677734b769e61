import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { DEAD } from '../../../platform/processes/dead.js';
import { newId } from '../../../platform/time/clock.js';
import { EditPlan, storedPlan } from './edit-plan.js';

export interface AbandonedEdit {
  readonly streamId: number;
  /** By which it is ended from now on. The plan keeps the id under which the files were written. */
  readonly id: string;
  readonly dir: string;
  readonly plan: EditPlan | null;
}

/** The one edit of a city's files that may be going on. Whoever holds the row alone writes the files. */
@Injectable()
export class ConfigEditsRepository {
  constructor(private readonly db: Db) {}

  /** False while somebody else holds it, or has left something to be taken back. */
  async take(tx: Tx, streamId: number, edit: { id: string; owner: string; dir: string }, seconds: number): Promise<boolean> {
    const { numAffectedRows } = await sql`
      insert into config_edits as e (stream_id, id, owner, expires_at, dir)
      values (${streamId}, ${edit.id}, ${edit.owner}, ${until(seconds)}, ${edit.dir})
      on conflict (stream_id) do update
        set id = excluded.id, owner = excluded.owner, expires_at = excluded.expires_at, dir = excluded.dir, plan = null
        where e.expires_at < clock_timestamp() and e.plan is null`.execute(tx);
    return numAffectedRows === 1n;
  }

  /** Says what is about to be written, and renews the hold. False when it was lost. */
  async plan(tx: Tx, streamId: number, id: string, plan: EditPlan, seconds: number): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update config_edits set plan = ${storedPlan(plan)}::jsonb, expires_at = ${until(seconds)}
      where stream_id = ${streamId} and id = ${id} and expires_at > clock_timestamp()`.execute(tx);
    return numAffectedRows === 1n;
  }

  /** Ends the edit. False when somebody else has ended it. */
  async end(tx: Tx, streamId: number, id: string): Promise<boolean> {
    const { numAffectedRows } = await sql`delete from config_edits where stream_id = ${streamId} and id = ${id}`.execute(tx);
    return numAffectedRows === 1n;
  }

  /** Who has an edit: the one that made it, under the id `hold`, another that takes it back, or nobody any more. */
  async holderOf(streamId: number, id: string, hold = id): Promise<'own' | 'another' | undefined> {
    const { rows } = await sql<{ own: boolean }>`
      select e.id = ${hold} as own from config_edits e
      where e.stream_id = ${streamId} and (e.id = ${hold} or e.plan ->> 'id' = ${id})`.execute(this.db);
    return rows[0] && (rows[0].own ? 'own' : 'another');
  }

  async lastEdit(streamId: number): Promise<string | null> {
    const row = await this.db.selectFrom('config_states').select('last_edit').where('stream_id', '=', streamId).executeTakeFirst();
    return row?.last_edit ?? null;
  }

  /**
   * Holds an edit again that somebody else has ended, to take back what was written since: `busy` while somebody has another one, `moved`
   * once another than `lastEdit` was committed, whose files may look the same. Behind the state, which a commit has before it ends an edit.
   */
  async retake(
    tx: Tx,
    streamId: number,
    edit: { id: string; owner: string; dir: string; plan: EditPlan; lastEdit: string | null },
    seconds: number,
  ): Promise<'taken' | 'busy' | 'moved'> {
    const { rows } = await sql<{ last_edit: string | null }>`
      select last_edit from config_states where stream_id = ${streamId} for update`.execute(tx);
    if (rows[0] === undefined || rows[0].last_edit !== edit.lastEdit) return 'moved';
    const { numAffectedRows } = await sql`
      insert into config_edits (stream_id, id, owner, expires_at, dir, plan)
      values (${streamId}, ${edit.id}, ${edit.owner}, ${until(seconds)}, ${edit.dir}, ${storedPlan(edit.plan)}::jsonb)
      on conflict (stream_id) do nothing`.execute(tx);
    return numAffectedRows === 1n ? 'taken' : 'busy';
  }

  readonly areOpen = sql<boolean>`exists (select from config_edits)`;

  /**
   * Takes over one edit whose time is up or whose process is dead; of one city, or of any. Under an id of its own: a process that
   * was only slow neither commits nor ends it any more.
   */
  async adopt(tx: Tx, owner: string, seconds: number, streamId?: number): Promise<AbandonedEdit | undefined> {
    const { rows } = await sql<{ stream_id: number; id: string; dir: string; plan: unknown }>`
      update config_edits e set id = ${newId('edit')}, owner = ${owner}, expires_at = ${until(seconds)}
      where e.stream_id = (
        select stream_id from config_edits d
        where (d.expires_at < clock_timestamp() or exists (select from processes p where p.id = d.owner and ${DEAD}))
          and (${streamId ?? null}::int is null or d.stream_id = ${streamId ?? null})
        limit 1 for update skip locked)
      returning e.stream_id, e.id, e.dir, e.plan`.execute(tx);
    const row = rows[0];
    if (row === undefined) return undefined;
    return { streamId: row.stream_id, id: row.id, dir: row.dir, plan: row.plan === null ? null : EditPlan.parse(row.plan) };
  }

  /** Whether a city is registered where an edit was made, running or not: otherwise nobody brings its folder back. */
  async hasCity({ streamId, dir }: Pick<AbandonedEdit, 'streamId' | 'dir'>): Promise<boolean> {
    const { rows } = await sql`select from cities where stream_id = ${streamId} and dir = ${dir}`.execute(this.db);
    return rows.length > 0;
  }

  /** Whatever was composed while files were being written is not to be believed. */
  async raiseAttempt(tx: Tx, streamId: number): Promise<void> {
    await sql`update config_states set attempt = attempt + 1 where stream_id = ${streamId}`.execute(tx);
  }
}

function until(seconds: number): ReturnType<typeof sql> {
  return sql`clock_timestamp() + ${seconds}::float8 * interval '1 second'`;
}
