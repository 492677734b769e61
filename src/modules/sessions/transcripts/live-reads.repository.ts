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

/** An agent, and the session that was last known to speak for it. */
export interface Speaker {
  readonly streamId: number;
  readonly agent: string;
  readonly above: number;
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
   * The session that speaks for each agent, or member of a pool: the newest one with a process. Where none has one, it is the newest that is not
   * closed, or else the newest, of those after `above`. Undefined where that is `above` still, or where there is none.
   */
  async speaking(agents: readonly Speaker[]): Promise<(AgentSession | undefined)[]> {
    const its = sql`s.stream_id = f.stream_id and (s.agent = f.agent or s.agent_name = f.agent)`;
    const { rows } = await sql<AgentSession & { nth: number }>`
      select f.nth::integer, s.pk, s.live, l.entries
      from unnest(${agents.map(({ streamId }) => streamId)}::bigint[], ${agents.map(({ agent }) => agent)}::text[],
        ${agents.map(({ above }) => above)}::bigint[]) with ordinality as f(stream_id, agent, above, nth)
      left join lateral (select s.pk from sessions s where ${its} and s.live order by s.pk desc limit 1) live on true
      left join lateral (
        select s.pk from sessions s where live.pk is null and ${its} and s.pk > f.above
        order by (s.state <> 'closed') desc, s.pk desc limit 1) newest on true
      join sessions s on s.pk = coalesce(live.pk, newest.pk) and s.pk <> f.above
      join session_logs l on l.session_pk = s.pk`.execute(this.db);
    const found = new Map(rows.map(({ nth, ...session }) => [nth, session]));
    return agents.map((_, n) => found.get(n + 1));
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
