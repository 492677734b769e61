import pg from 'pg';
import { withClient } from './database.js';

export interface Filling {
  /** Open beads; half of them hold two dependencies each, so that about half are ready. */
  readonly open: number;
  readonly closed: number;
  /** Queue of every open bead, if any. */
  readonly route?: string;
  readonly dependencies?: boolean;
}

/**
 * Fills a city with beads as they would have come through the API, a microsecond apart in the past. With dependencies,
 * every second open bead depends on four others: two that are closed and two that are not.
 */
export async function fill(url: string, city: string, filling: Filling): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('set synchronous_commit = off');
    await insert(client, city, 'o', filling.open, null, filling.route);
    await insert(client, city, 'c', filling.closed, '1 hour', undefined);
    if (filling.dependencies === true) await client.query(DEPENDENCIES, [city, filling.open, filling.closed]);
  });
  await withClient(url, (client) => client.query('vacuum analyze beads, bead_dependencies'));
}

async function insert(
  client: pg.Client,
  city: string,
  prefix: string,
  count: number,
  closed: string | null,
  route?: string,
): Promise<void> {
  await client.query(
    `insert into beads (stream_id, id, title, description, status, closed_at, priority, created_at, metadata)
     select s.id, $2 || '-' || g, 'write report ' || g, 'what was found in part ' || g, case when $4::text is null then 'open' else 'closed' end,
            now() - $4::interval, g % 5, now() - interval '1 day' + g * interval '1 microsecond',
            case when $5::text is null then '{}'::jsonb else jsonb_build_object('gc.routed_to', $5::text) end
     from event_streams s, generate_series(1, $3::int) g where s.name = $1`,
    [city, prefix, count, closed, route ?? null],
  );
}

const DEPENDENCIES = `
  with edges as (
    insert into bead_dependencies (stream_id, issue_id, depends_on_id, type)
    select s.id, 'o-' || g, case when n <= 2 then 'c-' || 1 + (g * 7 + n) % $3::int else 'o-' || g - n + 2 end, 'blocks'
    from event_streams s, generate_series(4, $2::int, 2) g, generate_series(1, 4) n where s.name = $1
    returning stream_id, issue_id, depends_on_id
  )
  update beads b set open_blockers = 2
  from event_streams s where s.name = $1 and b.stream_id = s.id and b.id in (select issue_id from edges)`;
