import { sql } from 'kysely';
import type { Db } from '../../../../platform/database/database.js';
import type { View } from './bead-model.js';
import { beadJson } from '../bead-json.js';

export interface StoredBead {
  /** The whole row. */
  readonly row: View;
  readonly json: View;
  readonly ready: boolean;
  /** Counted from the edges, not from the counter. */
  readonly blockers: readonly string[];
}

export interface StoredEvent extends View {
  readonly seq: number;
  readonly type: string;
  readonly subject: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

export interface StoredWork {
  readonly beads: Readonly<Record<string, StoredBead>>;
  readonly edges: readonly View[];
  readonly counters: readonly View[];
  readonly head: number;
  /** Those above the position that was asked for. */
  readonly events: readonly StoredEvent[];
}

/** Everything that the database holds of a city's work, in one snapshot. */
export async function storedWork(db: Db, streamId: number, above: number): Promise<StoredWork> {
  const { rows } = await sql<{ stored: StoredWork }>`
    select json_build_object(
      'beads', (
        select coalesce(json_object_agg(b.id, json_build_object('row', to_json(b), 'json', ${beadJson('b')}, 'ready', bead_is_ready(b), 'blockers', (
          select coalesce(json_agg(d.depends_on_id order by d.depends_on_id), '[]')
          from bead_dependencies d join beads t on (t.stream_id, t.id) = (d.stream_id, d.depends_on_id)
          where (d.stream_id, d.issue_id) = (b.stream_id, b.id) and d.type in ('blocks', 'waits-for', 'conditional-blocks')
            and t.status <> 'closed'))), '{}')
        from beads b where b.stream_id = ${streamId}),
      'edges', (
        select coalesce(json_agg(d order by d.issue_id, d.depends_on_id), '[]') from bead_dependencies d where d.stream_id = ${streamId}),
      'counters', (select coalesce(json_agg(c order by c.prefix), '[]') from bead_counters c where c.stream_id = ${streamId}),
      'head', (select head from event_streams where id = ${streamId}),
      'events', (
        select coalesce(json_agg(e order by e.seq), '[]') from events e where e.stream_id = ${streamId} and e.seq > ${above})
    ) as stored`.execute(db);
  return rows[0]!.stored;
}
