import { Injectable } from '@nestjs/common';
import { PgPool } from '../../../platform/database/database.js';
import { PAGE_BYTES } from '../../../platform/database/page-bytes.js';
import { beadJsonText } from '../work/bead-json.js';

export interface HookRow {
  /** Null when the city does not know the agent. */
  readonly agent: string | null;
  readonly head: number;
  /** The first item's tier; null when there is none. */
  readonly first: 'in_progress' | 'assigned' | 'routed' | null;
  /** JSON of the items. */
  readonly items: string;
}

/** Reads what is offered. Each answer is one statement, of one snapshot with the head of the city's stream. */
export interface Demand {
  readonly head: number;
  readonly items: { readonly route: string; readonly ready: number }[];
  readonly partial: boolean;
}

/** Of JSON about a route beside its name. */
const ROUTE_BYTES = 40;

@Injectable()
export class HooksRepository {
  constructor(private readonly pool: PgPool) {}

  /** What `claim_work` would take for the agent, in its order; as many as one answer holds. */
  async hook(streamId: number, agent: string, names: readonly string[], limit: number): Promise<HookRow> {
    const { rows } = await this.pool.query<HookRow>({
      name: 'hook-read',
      text: `
        with who as (select c.name, c.route, c.me || $3::text[] as me from claimant($1, $2) c),
        owned as (
          select o.* from who cross join lateral (select distinct unnest(who.me) as name) n cross join lateral (
            select 1 as tier, b.status as stage, coalesce(b.priority, 2) as priority, b.created_at, b.id, b as bead from beads b
            where b.stream_id = $1 and b.assignee = n.name and b.status <> 'closed' and bead_is_doable(b) and bead_is_mine(b, who.me, $3)
            order by b.status, coalesce(b.priority, 2), b.created_at, b.id limit $4
          ) o
        ), own as (
          select o.* from who cross join lateral (
            select 2 as tier, 'routed' as stage, 0 as priority, b.created_at, b.id, b as bead from beads b
            where b.stream_id = $1 and b.routed_to = who.name and who.name <> who.route and bead_is_offered(b)
            order by b.created_at, b.id limit $4
          ) o
        ), pool as (
          select o.* from who cross join lateral (
            select 3 as tier, 'routed' as stage, 0 as priority, b.created_at, b.id, b as bead from beads b
            where b.stream_id = $1 and b.routed_to = who.route and bead_is_offered(b)
            order by b.created_at, b.id limit $4
          ) o
        ), listed as (
          select a.*, row_number() over (order by a.tier, a.stage, a.priority, a.created_at, a.id) as place,
                 case a.stage when 'open' then 'assigned' else a.stage end as name
          from (select * from owned union all select * from own union all select * from pool) a
          order by place limit $4
        ), guessed as (
          select f.* from (
            select l.*, sum(y.bytes) over (order by l.place) - y.bytes as bytes_before from listed l cross join lateral (
              select coalesce(octet_length((l.bead).description), 0) + octet_length((l.bead).metadata::text) as bytes) y
          ) f where f.bytes_before < $5
        ), told as (
          select g.place, json_build_object('bead', ${beadJsonText('(g.bead)')}, 'tier', g.name)::text as json from guessed g
        ), held as (
          select t.*, t.place = 1 or sum(octet_length(t.json)) over (order by t.place) <= $5 as fits from told t
        )
        select (select name from who) as agent, (select s.head from event_streams s where s.id = $1) as head,
               (select l.name from listed l where l.place = 1) as first,
               (select '[' || coalesce(string_agg(h.json, ',' order by h.place), '') || ']' from held h where h.fits) as items`,
      values: [streamId, agent, [...names], limit, PAGE_BYTES],
    });
    return rows[0]!;
  }

  /** How many beads wait for each route: of the routes that fit on a page, and whether there are more. */
  async demand(streamId: number): Promise<Demand> {
    const { rows } = await this.pool.query<Demand>({
      name: 'hook-demand',
      text: `
        select s.head, coalesce(d.items, '[]') as items, coalesce(d.partial, false) as partial
        from event_streams s, lateral (
          select json_agg(json_build_object('route', r.route, 'ready', r.ready) order by r.route) filter (where r.upto <= $2) as items,
            bool_or(r.upto > $2) as partial
          from (
            select g.*, sum(${ROUTE_BYTES} + octet_length(g.route)) over (order by g.route rows unbounded preceding) as upto from (
              select b.routed_to collate "C" as route, count(*) as ready from beads b
              where b.stream_id = s.id and bead_is_offered(b) group by b.routed_to
            ) g
          ) r) d
        where s.id = $1`,
      values: [streamId, PAGE_BYTES],
    });
    return rows[0]!;
  }
}
