import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';

export interface LineRow {
  readonly seq: number;
  readonly at: Date;
  readonly attempt: number;
  readonly text: string;
}

/** What a service has written since a position, and up to where its log goes. */
export interface NewLines {
  readonly pk: number;
  readonly head: number;
  readonly rows: readonly LineRow[];
}

/** So many lines of each service are kept: the last ones. */
export const KEPT_LINES = 2_000;

/** The SQL of what services write. */
@Injectable()
export class ServiceLinesRepository {
  constructor(private readonly db: Db) {}

  /** Numbers of one service follow each other without a gap, in the order of the commits. */
  async append(pk: number, attempt: number, lines: readonly { readonly at: Date; readonly text: string }[]): Promise<void> {
    await sql`
      with head as (update services set log_head = log_head + ${lines.length} where pk = ${pk} returning log_head),
      gone as (delete from service_lines l using head h where l.service_pk = ${pk} and l.seq <= h.log_head - ${KEPT_LINES})
      insert into service_lines (service_pk, seq, at, attempt, text)
      select ${pk}, h.log_head - ${lines.length} + n.nth, n.at, ${attempt}, n.text
      from head h, unnest(${lines.map(({ at }) => at)}::timestamptz[], ${lines.map(({ text }) => text)}::text[]) with ordinality as n(at, text, nth)
      where n.nth > ${lines.length - KEPT_LINES}`.execute(this.db);
  }

  /** Of the lines up to `upto` the last ones, in their order. */
  async last(pk: number, upto: number, limit: number): Promise<LineRow[]> {
    const { rows } = await sql<LineRow>`
      select seq, at, attempt, text from service_lines where service_pk = ${pk} and seq <= ${upto} order by seq desc limit ${limit}`.execute(
      this.db,
    );
    return rows.reverse();
  }

  /** What is there after positions, a bounded piece of each. A service that is gone is not answered. */
  async after(positions: readonly { readonly pk: number; readonly pos: number }[], limit: number): Promise<NewLines[]> {
    const { rows } = await sql<NewLines & { rows: (Omit<LineRow, 'at'> & { at: string })[] }>`
      select s.pk, s.log_head as head, coalesce(l.rows, '[]') as rows
      from jsonb_to_recordset(${JSON.stringify(positions)}::jsonb) as p(pk bigint, pos bigint) join services s on s.pk = p.pk
      left join lateral (
        select jsonb_agg(jsonb_build_object('seq', x.seq, 'at', x.at, 'attempt', x.attempt, 'text', x.text) order by x.seq) as rows
        from (select * from service_lines where service_pk = p.pk and seq > p.pos order by seq limit ${limit}) x) l on true`.execute(
      this.db,
    );
    return rows.map((row) => ({ ...row, rows: row.rows.map((line) => ({ ...line, at: new Date(line.at) })) }));
  }
}
