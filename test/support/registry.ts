import { sql } from 'kysely';
import type { CityScope } from '../../src/modules/tenancy/cities/city-scope.js';
import type { Db } from '../../src/platform/database/database.js';

/** A running city in the registry; its log goes on where one of that name has left it. */
export async function registerCity(db: Db, name: string, path: string): Promise<CityScope> {
  const { rows } = await sql<{ id: number; stream_id: number }>`
    with s as (insert into event_streams (name) values (${name}) on conflict (name) do update set name = excluded.name returning id)
    insert into cities (name, dir, stream_id, running, phase) select ${name}, ${path}, id, true, 'running' from s returning id, stream_id`.execute(
    db,
  );
  const { id, stream_id: streamId } = rows[0]!;
  return { id, name, path, stream: name, streamId };
}
