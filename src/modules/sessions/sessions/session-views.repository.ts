import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { fitted, fitting, wholePage } from '../../../platform/database/page-bytes.js';
import { counting, totalOf, type Count, type Total } from '../../../platform/database/totals.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { fromMicroseconds, inMicroseconds } from '../../../platform/database/microseconds.js';
import type { Place } from '../../work/work/page-token.js';
import type { SessionState } from '../session-store/session-states.js';
import type { SessionView } from './session-view.js';

export interface SessionFilter {
  readonly states: readonly SessionState[];
  readonly template?: string | undefined;
  readonly rig?: string | undefined;
  readonly provider?: string | undefined;
  readonly kind?: 'agent' | 'provider' | undefined;
  readonly running?: boolean | undefined;
  readonly pending?: boolean | undefined;
}

/** A session with what its configuration is known by; null before the first revision. */
export type ToldView = SessionView & { readonly config_revision: number | null; readonly config_hash: string | null };

export type SessionSort = 'created_at' | 'updated_at';

export interface SessionPage {
  readonly head: number;
  readonly total: Total;
  /** As many as one answer holds. */
  readonly rows: readonly (SessionView & { readonly place: string })[];
  readonly more: boolean;
}

/** A message, a tool call and what came of it are a few lines each; more entries than this are not looked at. */
const MAX_ENTRIES = 500;
const TEXT_OF_ENTRY = 16_384;

const isPending = sql`exists (select from session_interactions i where i.session_pk = s.pk and i.status = 'open')`;

/** The last `entries` things that a person would see; null for none. */
function output(entries: number): RawBuilder<unknown> {
  if (entries === 0) return sql`null::text`;
  return sql`(
    select string_agg(e.shown, e'\n' order by e.seq) from (
      select e.seq, right((
        select string_agg(case b.block ->> 'type' when 'text' then b.block ->> 'text'
            when 'tool_use' then '[' || coalesce(b.block ->> 'name', 'tool') || ']' end, '' order by b.n)
          from jsonb_array_elements(e.blocks) with ordinality b (block, n)), ${TEXT_OF_ENTRY}) as shown
      from session_entries e
      where e.session_pk = s.pk and e.kind in ('message', 'tool') and e.role <> 'user'
      order by e.seq desc limit ${Math.min(entries, MAX_ENTRIES)}
    ) e where e.shown <> '')`;
}

/** What answers tell of a session `s` with the log `l` that its row does not have, but for what it said. */
export const BESIDE_ROW = sql`l.activity, l.model, l.context_used, l.context_window, clock_timestamp() as now,
    (select b.id from beads b where b.stream_id = s.stream_id and b.status = 'in_progress' and (b.labels <> '{}' or b.metadata <> '{}')
        and bead_terms(b.stream_id, b.labels, b.metadata) @> bead_terms(s.stream_id, '{}', jsonb_build_object('gc.session_id'::text, s.id))
        and b.metadata ->> 'gc.session_id' = s.id
      order by b.updated_at desc nulls last, b.id limit 1) as active_bead,
    (select max(m.ended_at) from session_messages m
      where m.session_pk = s.pk and m.source in ('wait', 'nudge') and m.status = 'delivered') as nudged_at`;

/** All that answers tell of it, but for what it said. */
export const SHOWN = sql`s.pk, s.stream_id, s.id, s.session_name, s.alias, s.past_aliases, s.title, s.kind, s.template, s.agent, s.agent_name, s.slot,
    s.rig, s.provider, s.preset, s.transport, s.origin, s.named_identity, s.created_by, s.state, s.reason, s.close_code, s.generation,
    s.epoch, s.instance_token, s.session_key, s.runner_id, s.live, s.wake_request, s.wake_requested_at, s.not_before, s.stop_request,
    s.stop_reason, s.stop_requested_at, s.stop_deadline, s.start_deadline, s.held_until, s.quarantined_until, s.reset_pending,
    s.delete_pending, s.continuity_eligible, s.failed_starts, s.crashes, s.restarts, s.losses, s.circuit_until, s.churns, s.options, s.option_schema, s.capabilities, s.metadata,
    s.work_dir, s.launch_hash, s.failure, s.created_at, s.updated_at, s.state_at, s.last_woke_at, s.ready_at, s.last_turn_at, s.closed_at, ${BESIDE_ROW}`;

function view(entries: number): RawBuilder<unknown> {
  return sql`${SHOWN}, ${output(entries)} as output`;
}

/** Reads that answer requests, each in one statement, so that the head belongs to the rows. Nothing is probed here. */
@Injectable()
export class SessionViewsRepository {
  constructor(private readonly db: Db) {}

  /** A session and the head of its city's log. `entries` is how many things it said last are read along. */
  async find(streamId: number, pk: number, entries: number): Promise<(SessionView & { head: number }) | undefined> {
    const { rows } = await sql<SessionView & { head: number }>`
      select ${view(entries)}, e.head from sessions s join session_logs l on l.session_pk = s.pk join event_streams e on e.id = s.stream_id
      where s.pk = ${pk} and s.stream_id = ${streamId}`.execute(this.db);
    return rows[0];
  }

  /** Sessions as they are in a transaction, without what they said, and the revision of the configuration that their city runs. */
  async told(tx: Tx, streamId: number, ids: readonly string[]): Promise<ToldView[]> {
    const { rows } = await sql<ToldView>`
      select ${view(0)}, r.revision as config_revision, r.hash as config_hash
      from sessions s join session_logs l on l.session_pk = s.pk
        left join config_states c on c.stream_id = s.stream_id
        left join config_revisions r on r.stream_id = c.stream_id and r.revision = c.revision
      where s.stream_id = ${streamId} and s.id = any(${[...ids]}::text[])`.execute(tx);
    return rows;
  }

  /** Newest first by the instant `by`; `createdAt` of a place is that. */
  async page(
    streamId: number,
    { by = 'created_at', ...filter }: SessionFilter & { readonly by?: SessionSort | undefined },
    limit: number,
    after: Place | undefined,
    entries: number,
  ): Promise<SessionPage> {
    const { held, looked } = matching(streamId, filter);
    const instant = by === 'created_at' ? sql`created_at` : sql`updated_at`;
    const below = after === undefined ? sql`true` : sql`(s.${instant}, s.pk) < (${fromMicroseconds(after.createdAt)}, ${after.id}::bigint)`;
    const found = sql`
      select v.*, octet_length(row_to_json(v)::text) as bytes from (
        select ${view(entries)}, ${inMicroseconds(sql`s.${instant}`)} as place
        from (select s.pk from sessions s where ${held} and ${looked} and ${below} order by s.${instant} desc, s.pk desc limit ${limit + 1}) f
        join sessions s on s.pk = f.pk join session_logs l on l.session_pk = s.pk
      ) v`;
    const counted = counting(
      sql`select from sessions s where ${held}`,
      sql`select ${looked} as fits from sessions s where ${held} order by s.created_at desc, s.pk desc`,
    );
    const { rows } = await sql<Partial<SessionView> & Count & { head: number; place: string; pk: number | null; fits: boolean }>`
      select e.head, t.counted, t.looked, p.*
      from event_streams e
      cross join lateral (${counted}) t
      left join (${fitting(found, sql`${instant} desc, pk desc`, wholePage(limit))}) p on true
      where e.id = ${streamId} order by p.${instant} desc, p.pk desc`.execute(this.db);
    const page = fitted(rows.filter((row) => row.pk !== null) as (SessionView & { place: string; fits: boolean })[]);
    const [first] = rows;
    const total = first === undefined ? { total: 0 } : totalOf(first, page.rows.length, after === undefined && !page.more);
    return { head: first?.head ?? 0, total, ...page };
  }
}

/** What indexes answer, and what each session is looked at for. */
function matching(streamId: number, filter: SessionFilter): { readonly held: RawBuilder<unknown>; readonly looked: RawBuilder<unknown> } {
  const held = [sql`s.stream_id = ${streamId}`];
  // In these words the partial index of open sessions serves it.
  if (!filter.states.includes('closed')) held.push(sql`s.state <> 'closed'`);
  if (filter.running === true) held.push(sql`s.live`);
  if (filter.template !== undefined) held.push(sql`s.template = ${filter.template}`);
  const looked = [sql`true`];
  if (filter.states.length > 0) looked.push(sql`s.state = any(${[...filter.states]}::text[])`);
  for (const column of ['rig', 'provider', 'kind'] as const) {
    const value = filter[column];
    if (value !== undefined) looked.push(sql`s.${sql.ref(column)} = ${value}`);
  }
  if (filter.running === false) looked.push(sql`not s.live`);
  if (filter.pending !== undefined) looked.push(filter.pending ? isPending : sql`not ${isPending}`);
  return { held: sql.join(held, sql` and `), looked: sql.join(looked, sql` and `) };
}
