import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { PgPool } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { appendArguments, type AppendItem } from './append-arguments.js';

export interface Appended {
  readonly pk: number;
  readonly head: number;
}

/** A process has far fewer texts in the air, and half as many tool calls at the most. */
const SETTLED_AT_MOST = 500;

/** `append_session_logs` after `p_fenced`, as the migration declares it. */
const TYPES = ['bigint', 'bigint', 'integer', 'text', 'text', 'bigint', 'bigint', 'integer', 'boolean'].concat(
  ['integer', 'integer'],
  Array<string>(8).fill('text'),
  ['bigint'],
);
const APPEND = {
  name: 'append-session-logs',
  text: `select pk, head from append_session_logs(true, ${TYPES.map((type, i) => `$${i + 1}::${type}[]`).join(', ')})`,
};

@Injectable()
export class TranscriptLogRepository {
  constructor(private readonly pool: PgPool) {}

  /** In a transaction of its own. A session whose write was refused is not among the rows. */
  async append(items: readonly AppendItem[]): Promise<Appended[]> {
    const { rows } = await this.pool.query<Appended>({ ...APPEND, values: appendArguments(items) });
    return rows;
  }

  async appendIn(tx: Tx, item: AppendItem, fenced: boolean): Promise<Appended | undefined> {
    const values = appendArguments([item]).map((value, i) => sql`${value}::${sql.raw(TYPES[i]!)}[]`);
    const { rows } = await sql<Appended>`select pk, head from append_session_logs(${fenced}::boolean, ${sql.join(values)})`.execute(tx);
    return rows[0];
  }

  /**
   * Ends what a process that is gone had begun to say: text is what it is, of a tool nobody knows. What was said to it stays as
   * it is. Of texts only the newest entries are looked at: older ones ended long ago. A tool may have run meanwhile.
   */
  async settle(tx: Tx, pk: number, generation: number): Promise<void> {
    await sql`
      with newest as (
        select w.seq, w.generation, w.status, w.role from session_entries w where w.session_pk = ${pk} order by w.seq desc limit ${SETTLED_AT_MOST}
      ), begun as (
        select e.seq, row_number() over (order by e.seq) as n from (
          select w.seq from newest w where w.generation = ${generation} and w.status = 'partial' and w.role <> 'user'
          union
          (select w.seq from session_entries w
            where w.session_pk = ${pk} and w.generation = ${generation} and w.status = 'partial' and w.kind = 'tool' limit ${SETTLED_AT_MOST})
        ) e
      ), moved as (
        update session_logs l set head = l.head + (select count(*) from begun)
        where l.session_pk = ${pk} and exists (select from begun) returning l.head - (select count(*) from begun) as before
      )
      update session_entries e set rev = m.before + b.n, status = case e.kind when 'tool' then 'unknown' else 'final' end
      from begun b, moved m where e.session_pk = ${pk} and e.seq = b.seq`.execute(tx);
  }
}
