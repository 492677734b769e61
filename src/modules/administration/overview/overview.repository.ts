import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db } from '../../../platform/database/database.js';

interface Counted {
  readonly sessions: Readonly<Record<string, number>>;
  readonly pending: number;
  readonly open: number;
  readonly ready: number;
  readonly in_progress: number;
  readonly unread: number;
}

export interface OverviewRow extends Counted {
  readonly stream_id: number;
  readonly name: string;
  readonly running: boolean;
  readonly phase: string;
  readonly suspended: boolean;
  readonly error: string | null;
  /** Of a running city; null when its files can be used. */
  readonly config_error: string | null;
  readonly head: number;
  /** Null when it has said nothing yet. */
  readonly last_ts: Date | null;
  /** It may have more than was counted of it. */
  readonly more: boolean;
}

export interface TotalsRow extends Counted {
  readonly cities: number;
  readonly running: number;
  /** Unfinished beads that were looked at. */
  readonly seen: number;
}

export interface OverviewPage {
  /** Undefined: all. */
  readonly names: readonly string[] | undefined;
  readonly after: string;
  readonly limit: number;
  /** Of each kind of what a city has so many are counted. */
  readonly most: number;
}

/** What the state of a session is called in answers: nobody is active without a process. */
const STATE = sql`case when x.state = 'active' and not x.live then 'asleep' else x.state end`;
const visible = (names: readonly string[] | undefined): RawBuilder<boolean> =>
  sql<boolean>`(${names === undefined} or c.name = any(${[...(names ?? [])]}::text[]))`;

/** What cities have, in numbers that their own lists have, too. */
@Injectable()
export class OverviewRepository {
  constructor(private readonly db: Db) {}

  /** By name, each counted through the indexes of its own, as far as `most`; one more than `limit` when there are more. */
  async page({ names, after, limit, most }: OverviewPage): Promise<OverviewRow[]> {
    const { rows } = await sql<OverviewRow>`
      select c.stream_id, c.name, c.running, c.phase, c.suspended, c.error, case when c.running then left(f.rejected->'errors'->>0, 300) end as config_error, e.head, nullif(e.last_ts, '-infinity') as last_ts, s.sessions, i.pending, w.open, w.in_progress, r.ready, m.unread,
        greatest(w.open + w.in_progress, r.ready, m.unread, i.pending) >= ${most} as more
      from (
        select c.stream_id, c.name, c.running, c.phase, coalesce(c.suspended, c.suspended_on_start) as suspended, case when c.phase = 'init_failed' then left(c.error, 300) end as error
        from cities c where c.name > ${after} and ${visible(names)} order by c.name limit ${limit + 1}
      ) c join event_streams e on e.id = c.stream_id left join config_states f on f.stream_id = c.stream_id cross join lateral (
        select coalesce(json_object_agg(g.state, g.n), '{}') as sessions from (
          select ${STATE} as state, count(*) as n from sessions x where x.stream_id = c.stream_id and x.state <> 'closed' group by 1) g
      ) s cross join lateral (
        select count(*) as pending from (
          select from session_interactions i where i.stream_id = c.stream_id and i.status = 'open' and c.running limit ${most}) i
      ) i cross join lateral (
        select count(*) filter (where b.status = 'open') as open, count(*) filter (where b.status = 'in_progress') as in_progress
        from (select b.status from beads b where b.stream_id = c.stream_id and b.status <> 'closed' limit ${most}) b
      ) w cross join lateral (
        select count(*) as ready from (select from beads b where b.stream_id = c.stream_id and bead_is_ready(b) limit ${most}) b
      ) r cross join lateral (
        select count(*) as unread from (
          select from messages m
          where m.stream_id = c.stream_id and m.principal = 'human' and m.archived_at is null and m.read_at is null limit ${most}) m
      ) m order by c.name`.execute(this.db);
    return rows;
  }

  async count(names: readonly string[] | undefined): Promise<number> {
    const { rows } = await sql<{ n: number }>`select count(*) as n from cities c where ${visible(names)}`.execute(this.db);
    return rows[0]!.n;
  }

  /** All of them together, with at most so many of their unfinished beads, and of those that are ready: each from an index, and no bead is read. */
  async totals(names: readonly string[] | undefined, mostBeads: number): Promise<TotalsRow> {
    const { rows } = await sql<TotalsRow>`
      with c as materialized (select c.stream_id, c.name, c.running from cities c where ${visible(names)})
      select (select count(*) from c) as cities, (select count(*) from c where c.running) as running, (
          select coalesce(json_object_agg(g.state, g.n), '{}') from (
            select ${STATE} as state, count(*) as n from c join sessions x on x.stream_id = c.stream_id and x.state <> 'closed' group by 1) g) as sessions,
        (select count(*) from c join session_interactions i on i.stream_id = c.stream_id and i.status = 'open' where c.running) as pending,
        (select count(*) from c join messages m on m.stream_id = c.stream_id and m.principal = 'human' and m.archived_at is null and m.read_at is null) as unread,
        w.seen, w.open, w.in_progress, r.ready
      from (
        select count(*) as seen, count(*) filter (where b.status = 'open') as open, count(*) filter (where b.status = 'in_progress') as in_progress
        from (select b.status from c join beads b on b.stream_id = c.stream_id where b.status <> 'closed' limit ${mostBeads + 1}) b
      ) w cross join (
        select count(*) as ready from (select from c join beads b on b.stream_id = c.stream_id where bead_is_ready(b) limit ${mostBeads + 1}) b
      ) r`.execute(this.db);
    return rows[0]!;
  }
}
