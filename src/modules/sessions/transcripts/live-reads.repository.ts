import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { EpochEnds } from '../../../platform/event-log/epochs.js';
import type { InteractionRow } from '../interactions/interaction-row.js';
import { entriesWithin, entryColumns, HEAD_COLUMNS, type EntryRow, type TranscriptHead } from './entry-row.js';

/** What is wanted of a session: everything with a position in (pos, upto]. */
export interface Wanted {
  readonly pk: number;
  readonly pos: number;
  readonly upto: number;
}

export type OpenInteraction = Pick<InteractionRow, 'request_id' | 'kind' | 'prompt' | 'options' | 'metadata'> & {
  readonly rev: number;
  readonly opened_at: string;
};

/** What has changed in a session, as one snapshot has it. */
export interface Changes extends TranscriptHead {
  /** Entries in the order of their positions, as many as a round takes. */
  readonly rows: readonly EntryRow[];
  /** Whether there are more than those. */
  readonly more: boolean;
  /** Questions that were opened there and still are. */
  readonly opened: readonly OpenInteraction[];
  /** Questions that were closed there, whenever they were opened. */
  readonly cleared: readonly { readonly request_id: string; readonly rev: number; readonly opened_rev: number }[];
  /** Ids of all open questions. */
  readonly pending: readonly string[];
}

export interface AgentSession {
  readonly pk: number;
  readonly live: boolean;
  readonly entries: number;
}

/** How far a session of an agent is. */
export interface AgentHead {
  readonly pk: number;
  readonly head: number;
  readonly ends: EpochEnds;
}

const ROUND_ENTRIES = 500;
/** Of one session in one round: 64 of them are read at once. */
const ROUND_BYTES = 256 * 1024;

/** What the streams of sessions read. One statement is one snapshot: whoever sees a head sees all up to it. */
@Injectable()
export class LiveReads {
  constructor(private readonly db: Db) {}

  /** The heads of those that there are. */
  async heads(pks: readonly number[]): Promise<{ pk: number; head: number }[]> {
    const { rows } = await sql<{ pk: number; head: number }>`
      select l.session_pk as pk, l.head from session_logs l where l.session_pk = any (${[...pks]}::bigint[])`.execute(this.db);
    return rows;
  }

  /** Of sessions that have moved beyond `pos`; a session that is not there any more is left out. */
  async changes(wanted: readonly Wanted[], withRaw: boolean): Promise<Changes[]> {
    const column = (key: keyof Wanted): number[] => wanted.map((one) => one[key]);
    const moved = sql`
      select * from session_entries w where w.session_pk = f.pk and w.rev > f.pos and w.rev <= f.upto
      order by w.rev limit ${ROUND_ENTRIES}`;
    const { rows } = await sql<Changes>`
      select ${HEAD_COLUMNS}, c.rows, c.more,
        coalesce((select json_agg(json_build_object('request_id', i.request_id, 'kind', i.kind, 'prompt', i.prompt, 'options', i.options,
            'metadata', i.metadata, 'opened_at', i.opened_at, 'rev', i.opened_rev) order by i.opened_rev)
          from session_interactions i where i.session_pk = f.pk and i.opened_rev > f.pos and i.opened_rev <= f.upto and i.status = 'open'), '[]') as opened,
        coalesce((select json_agg(json_build_object('request_id', i.request_id, 'rev', i.closed_rev, 'opened_rev', i.opened_rev)
            order by i.closed_rev)
          from session_interactions i where i.session_pk = f.pk and i.closed_rev > f.pos and i.closed_rev <= f.upto), '[]') as cleared,
        coalesce((select json_agg(i.request_id order by i.pk) from session_interactions i
          where i.session_pk = f.pk and i.status = 'open'), '[]') as pending
      from unnest(${column('pk')}::bigint[], ${column('pos')}::bigint[], ${column('upto')}::bigint[]) as f(pk, pos, upto)
      join sessions s on s.pk = f.pk
      join session_logs l on l.session_pk = f.pk
      cross join lateral (
        select coalesce(json_agg(x order by x.rev), '[]') as rows,
               coalesce(max(x.rev) < (select max(m.rev) from session_entries m where m.session_pk = f.pk and m.rev <= f.upto), false) as more
        from (
          select ${entryColumns(withRaw)} from (${entriesWithin(moved, sql`rev`, ROUND_BYTES, withRaw)}) e
        ) x
      ) c
      where l.head > f.pos`.execute(this.db);
    return rows;
  }

  /** The open questions of a session. */
  async open(pk: number): Promise<OpenInteraction[]> {
    const { rows } = await sql<OpenInteraction>`
      select i.request_id, i.kind, i.prompt, i.options, i.metadata, i.opened_at::text as opened_at, i.opened_rev as rev
      from session_interactions i where i.session_pk = ${pk} and i.status = 'open' order by i.opened_rev`.execute(this.db);
    return rows;
  }

  /**
   * The session that speaks for an agent, or for a member of its pool: one with a process first, then the newest. With
   * `above` one that is newer than that session, and none while that one has a process.
   */
  async ofAgent(streamId: number, agent: string, above: number): Promise<AgentSession | undefined> {
    const { rows } = await sql<AgentSession>`
      select s.pk, s.live, l.entries from sessions s join session_logs l on l.session_pk = s.pk
      where s.stream_id = ${streamId} and s.pk > ${above} and (s.agent = ${agent} or s.agent_name = ${agent})
        and not exists (select 1 from sessions c where c.pk = ${above} and c.live)
      order by s.live desc, (s.state <> 'closed') desc, s.pk desc limit 1`.execute(this.db);
    return rows[0];
  }

  /** Sessions of an agent after one, oldest first, up to another; and whether the first is the agent's. */
  async agentSessions(streamId: number, agent: string, from: number, upto: number, limit: number): Promise<AgentHead[]> {
    const { rows } = await sql<AgentHead>`
      select s.pk, l.head, l.epoch_ends::float8[] as ends from sessions s join session_logs l on l.session_pk = s.pk
      where s.stream_id = ${streamId} and s.pk >= ${from} and s.pk <= ${upto} and (s.agent = ${agent} or s.agent_name = ${agent})
      order by s.pk limit ${limit}`.execute(this.db);
    return rows;
  }
}
