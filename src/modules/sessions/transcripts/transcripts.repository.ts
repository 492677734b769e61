import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { EpochEnds } from '../../../platform/event-log/epochs.js';
import { entriesWithin, entryColumns, HEAD_COLUMNS, type EntryRow, type TranscriptHead } from './entry-row.js';

/** Places between which entries are read, both exclusive. */
export interface Span {
  readonly above: number;
  readonly below: number;
}

export interface Page extends TranscriptHead {
  /** In the order of their places. */
  readonly rows: readonly EntryRow[];
  readonly has_older: boolean;
  readonly has_newer: boolean;
  /** Ids of open questions. */
  readonly pending: readonly string[];
}

export interface Bounds {
  readonly entries: number;
  /** After which an answer ends; one entry is always given. */
  readonly bytes: number;
}

@Injectable()
export class TranscriptsRepository {
  constructor(private readonly db: Db) {}

  /** The head of a city's log, to be asked before what belongs to it is read. */
  async cityHead(streamId: number): Promise<number> {
    const { rows } = await sql<{ head: number }>`select head from event_streams where id = ${streamId}`.execute(this.db);
    return rows[0]!.head;
  }

  async head(pk: number): Promise<(TranscriptHead & { readonly ends: EpochEnds }) | undefined> {
    const { rows } = await sql<TranscriptHead & { readonly ends: EpochEnds }>`
      select ${HEAD_COLUMNS}, l.epoch_ends::float8[] as ends from sessions s join session_logs l on l.session_pk = s.pk where s.pk = ${pk}`.execute(
      this.db,
    );
    return rows[0];
  }

  /** The place of an entry; undefined when the transcript has no such entry. */
  async placeOf(pk: number, entryId: string): Promise<number | undefined> {
    const { rows } = await sql<{ seq: number }>`
      select seq from session_entries where session_pk = ${pk} and entry_id = ${entryId}`.execute(this.db);
    return rows[0]?.seq;
  }

  /** The place of the n-th last compaction in a span, from 1; undefined when it has no more than that. */
  async compaction(pk: number, { above, below }: Span, n: number): Promise<number | undefined> {
    const { rows } = await sql<{ seq: number }>`
      select seq from session_entries where session_pk = ${pk} and kind = 'compaction' and seq > ${above} and seq < ${below}
      order by seq desc offset ${n - 1} limit 2`.execute(this.db);
    return rows.length < 2 ? undefined : rows[0]!.seq;
  }

  /**
   * A page of one snapshot: from the span's end backwards, or from its beginning.
   */
  async page(pk: number, span: Span, from: 'start' | 'end', bounds: Bounds, withRaw: boolean): Promise<Page | undefined> {
    const direction = sql.raw(from === 'start' ? 'asc' : 'desc');
    const order = sql`seq ${direction}`;
    const entries = sql`
      select w.* from session_entries w where w.session_pk = ${pk} and w.seq > ${span.above} and w.seq < ${span.below}
      order by w.seq ${direction} limit ${bounds.entries}`;
    const chosen = sql`select c.seq from (${entriesWithin(entries, order, bounds.bytes, withRaw)}) c`;
    return this.#page(pk, chosen, span, withRaw);
  }

  async #page(pk: number, chosen: RawBuilder<unknown>, span: Span, withRaw: boolean): Promise<Page | undefined> {
    const { rows } = await sql<Page>`
      with page as materialized (${chosen}), ends as (select min(seq) as first, max(seq) as last from page)
      select ${HEAD_COLUMNS},
        coalesce((select json_agg(x order by x.seq) from (
          select ${entryColumns(withRaw)} from page p join session_entries e on e.session_pk = ${pk} and e.seq = p.seq
        ) x), '[]') as rows,
        coalesce((select min(o.seq) from session_entries o where o.session_pk = ${pk}) < coalesce(ends.first, ${span.below}), false) as has_older,
        coalesce((select max(o.seq) from session_entries o where o.session_pk = ${pk}) > coalesce(ends.last, ${span.above}), false) as has_newer,
        coalesce((select json_agg(i.request_id order by i.pk) from session_interactions i
          where i.session_pk = ${pk} and i.status = 'open'), '[]') as pending
      from sessions s join session_logs l on l.session_pk = s.pk cross join ends where s.pk = ${pk}`.execute(this.db);
    return rows[0];
  }

  /** The tools under which sub-agents have spoken, in the order of their first words. */
  async parents(pk: number, limit: number): Promise<string[]> {
    const { rows } = await sql<{ parent: string }>`
      select parent_tool_use_id as parent from session_entries where session_pk = ${pk} and parent_tool_use_id is not null
      group by 1 order by min(seq) limit ${limit}`.execute(this.db);
    return rows.map(({ parent }) => parent);
  }

  /** The newest entries of one sub-agent, in order. */
  async ofParent(pk: number, parent: string, bounds: Bounds): Promise<EntryRow[]> {
    const newest = sql`
      select * from session_entries where session_pk = ${pk} and parent_tool_use_id = ${parent} order by seq desc limit ${bounds.entries}`;
    const { rows } = await sql<EntryRow>`
      select ${entryColumns(true)} from (${entriesWithin(newest, sql`seq desc`, bounds.bytes, true)}) e order by e.seq`.execute(this.db);
    return rows;
  }

  /** The entry of a tool call of one process. */
  async tool(pk: number, generation: number, callId: string): Promise<EntryRow | undefined> {
    const { rows } = await sql<EntryRow>`
      select ${entryColumns(false)} from session_entries e
      where e.session_pk = ${pk} and e.entry_id = ${`${generation}.e.${callId}`}`.execute(this.db);
    return rows[0];
  }
}
