import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { SUPERVISOR_STREAM } from '../../contract/scalars.js';
import type { Database } from '../database/database.js';
import { afterCommit, type Tx } from '../database/transactions.js';
import { EPOCH_STEP } from './epochs.js';
import { MOST_EARLIER } from './joins.js';
import { newId } from '../time/clock.js';
import type { AppendedEvent, NewEvent } from './event.js';
import { EventDraft, eventsIn, partsOf } from './event-draft.js';
import { MovedStreams } from './moved.js';

/**
 * The event log room: the only writer of `event_streams` and `events`. It promises that a stream's seqs are
 * gapless within an epoch (`epochs.ts`) and that commit order equals seq order. It never notifies inside a transaction and never orders by
 * anything but `seq`.
 */
@Injectable()
export class EventLog {
  constructor(private readonly moved: MovedStreams) {}

  /**
   * Appends events in the caller's transaction and marks their streams as moved after the commit. Must be the
   * transaction's last write: from here on the streams' locks are held until the commit.
   */
  async append(tx: Tx, events: readonly NewEvent[]): Promise<AppendedEvent[]> {
    if (events.length === 0) return [];
    const { rows } = await sql<{ stream: string; stream_id: number; seq: number; ts: Date }>`
      select stream, stream_id, seq, ts from append_events(${given(events)})`.execute(tx);
    const heads = new Map<string, number>();
    for (const row of rows) heads.set(row.stream, Math.max(row.seq, heads.get(row.stream) ?? 0));
    this.#moved(tx, heads);
    return rows.map((r) => ({ stream: r.stream, streamId: r.stream_id, seq: r.seq, ts: r.ts }));
  }

  /** Stores events that this transaction will append later with `appendDrafts`: the slow part, sending them, is done before their streams are locked. */
  async draft(tx: Tx, events: readonly NewEvent[]): Promise<EventDraft> {
    const id = newId('draft');
    await sql`insert into event_drafts (id, events) values (${id}, ${given(events)})`.execute(tx);
    return new EventDraft(id, events);
  }

  /**
   * As `append`, with drafts among the events; `unused` are drafts that are only deleted. Answers the new head of each stream. The drafts, and the
   * events between them, are appended one after the other: joining two drafts of 2,000 events takes longer than appending one.
   */
  async appendDrafts(tx: Tx, all: readonly (NewEvent | EventDraft)[], unused: readonly EventDraft[]): Promise<ReadonlyMap<string, number>> {
    const events = eventsIn(all);
    const heads = new Map<string, number>();
    // Events of several streams are appended in one call: only then are the streams locked in name order and the times in the order of the events.
    const parts = new Set(events.map(({ stream }) => stream)).size > 1 ? [events] : partsOf(all);
    let appended = 0;
    for (const part of parts) {
      const written = part instanceof EventDraft ? sql`(select d.events from event_drafts d where d.id = ${part.id})` : given(part);
      const { rows } = await sql<{ stream: string; head: number; n: number }>`
        select a.stream, max(a.seq) as head, count(*)::integer as n from append_events(${written}) a group by a.stream`.execute(tx);
      for (const { stream, head, n } of rows) {
        heads.set(stream, head);
        appended += n;
      }
    }
    if (appended !== events.length) throw new Error(`${appended} of ${events.length} events were appended`);
    const drafts = [...all, ...unused].flatMap((one) => (one instanceof EventDraft ? [one.id] : []));
    await sql`delete from event_drafts where id = any(${drafts}::text[])`.execute(tx);
    this.#moved(tx, heads);
    return heads;
  }

  #moved(tx: Tx, heads: ReadonlyMap<string, number>): void {
    afterCommit(tx, () => this.moved.mark([...heads].map(([stream, head]) => ({ stream, head }))));
  }

  /**
   * Makes `name` part of the supervisor's feed, from its next event on; the stream row is made when it is not
   * there, where the present epoch begins, and its counter continues when it is. Holds the supervisor stream's lock until the commit, so that
   * "registered after the cursor's supervisor position" is decidable, and its own before its row, both in the order of appends: others may still
   * append to a stream that joins again. Returns the stream's id.
   */
  async joinStream(tx: Tx, name: string): Promise<number> {
    await sql`
      select pg_advisory_xact_lock(1, s.id) from (
        select id from event_streams where name = ${SUPERVISOR_STREAM} or name = ${name} order by name collate "C" offset 0) s`.execute(tx);
    const { rows } = await sql<{ id: number }>`
      insert into event_streams as s (name, joined_supervisor_seq, head, floor, sealed_seq, joined_seq, epoch_ends)
      select ${name}, v.head, d.begin, d.begin, d.begin, d.begin, d.ends
      from event_streams v cross join (
        select (epoch - 1) * ${EPOCH_STEP}::bigint as begin, array(select n * ${EPOCH_STEP}::bigint from generate_series(0, epoch - 2) n) as ends
        from deployment
      ) d
      where v.name = ${SUPERVISOR_STREAM}
      on conflict (name) do update
        set active = true, joined_seq = s.head, joined_supervisor_seq = excluded.joined_supervisor_seq,
          earlier_joins = (s.earlier_joins || array[s.joined_supervisor_seq, s.joined_seq])
            [greatest(1, cardinality(s.earlier_joins) + 3 - ${sql.lit(2 * MOST_EARLIER)}):]
      returning id`.execute(tx);
    return rows[0]!.id;
  }

  /**
   * Takes `name` out of the supervisor's feed. Its events stay readable for cursors that name it. Holds the stream's
   * lock, and takes it before its row, as every append does: the other way round both would wait for each other.
   */
  async leaveStream(tx: Tx, name: string): Promise<void> {
    await sql`select pg_advisory_xact_lock(1, id) from event_streams where name = ${name}`.execute(tx);
    await tx.updateTable('event_streams').set({ active: false }).where('name', '=', name).execute();
  }

  /**
   * The composite cursor of now: `name:head` of the supervisor's and every registered city's stream, and of those that may
   * still say more after they have left, in one snapshot, sorted by name in byte order. With `cities`, only those beside the supervisor's own.
   */
  async captureCursor(db: Kysely<Database>, cities?: readonly string[]): Promise<string> {
    const { rows } = await sql<{ cursor: string }>`
      select string_agg(name || ':' || head, ',' order by name) as cursor
      from event_streams s
      where (active or ${saysMore(sql`s`)}) and (${cities === undefined} or name = ${SUPERVISOR_STREAM} or name = any(${[...(cities ?? [])]}::text[]))`.execute(
      db,
    );
    return rows[0]!.cursor;
  }
}

const given = (events: readonly NewEvent[]): RawBuilder<unknown> => sql`${JSON.stringify(events)}::jsonb`;

/** How long a city may go on appending events after it was unregistered: ending its sessions takes up to 40 s of that. */
export const LATELY_MS = 10 * 60_000;

/** Whether a stream that has left the feed may still append events. */
export function saysMore(stream: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`${stream}.last_ts > now() - ${sql.lit(LATELY_MS)} * interval '1 millisecond'`;
}
