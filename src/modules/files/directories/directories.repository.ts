import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';

/** A tree that has something in common with the one that is asked for. All paths end in a slash. */
export interface Tree {
  readonly path: string;
  readonly city: string;
  readonly kind: 'city' | 'rig' | 'creation';
  /** False for what belonged to the city last. */
  readonly held: boolean;
}

/** Advisory class of the one lock under which directories change hands; 1 to 3 are of streams, their work and their rigs. */
const LOCK_CLASS = 4;
/** Of what is held one tree is enough to refuse; a claim that would end the memory of more trees than this is none. */
export const MOST_OVERLAPS = 200;

/** All SQL about who has which directories. */
@Injectable()
export class DirectoriesRepository {
  /** Whoever gives a directory to a city holds this until the transaction ends. After a city's work and state, before its rigs' names. */
  async lock(tx: Tx): Promise<void> {
    await sql`select pg_advisory_xact_lock(${LOCK_CLASS}, 0)`.execute(tx);
  }

  /** Trees of other cities that are the one at `path`, lie in it, or have it in them; those that are held first. */
  async overlaps(db: Kysely<Database>, path: string, city: string): Promise<Tree[]> {
    const ways = waysTo(path);
    // '0' comes right after the slash: between the two lies all that begins with the path.
    const end = `${path.slice(0, -1)}0`;
    const { rows } = await sql<Tree>`
      select t.path, t.city, t.kind, t.held from (
        select d.path, d.city, d.kind, d.held and exists (select from cities c where c.name = d.city) as held from directories d
          where d.path = any(${ways}::text[]) or (d.path > ${path} and d.path < ${end})
        union all
        select (c.dir || '/') collate "C", c.name, 'city', true from cities c
          where (c.dir || '/') collate "C" = any(${ways}::text[])
            or ((c.dir || '/') collate "C" > ${path} and (c.dir || '/') collate "C" < ${end})
        union all
        select (r.dir || '/') collate "C", r.name, 'creation', true from city_reservations r
          where (r.dir || '/') collate "C" = any(${ways}::text[])
            or ((r.dir || '/') collate "C" > ${path} and (r.dir || '/') collate "C" < ${end})
      ) t where t.city <> ${city} order by t.held desc, t.path limit ${MOST_OVERLAPS}`.execute(db);
    return rows;
  }

  /** The city that has the directory at `path`, or had it last; whatever lies around it does not count. */
  async ownerOf(db: Kysely<Database>, path: string): Promise<string | undefined> {
    const { rows } = await sql<{ city: string }>`
      select c.name as city from cities c where (c.dir || '/') collate "C" = ${path}
      union all select d.city from directories d where d.path = ${path} limit 1`.execute(db);
    return rows[0]?.city;
  }

  /** The rigs of a city that lie outside of it, and those that it had. */
  async rigs(db: Kysely<Database>, city: string): Promise<{ readonly path: string; readonly held: boolean }[]> {
    const { rows } = await sql<{ path: string; held: boolean }>`
      select path, held from directories where city = ${city} and kind = 'rig'`.execute(db);
    return rows;
  }

  /** The directory that a city is about to lose. */
  async remember(tx: Tx, city: string, path: string): Promise<void> {
    await this.#put(tx, path, city, 'city', false);
  }

  async holdRig(tx: Tx, city: string, path: string): Promise<void> {
    await this.#put(tx, path, city, 'rig', true);
  }

  async releaseRigs(tx: Tx, city: string, paths: readonly string[]): Promise<void> {
    await sql`
      update directories set held = false, updated_at = now()
      where path = any(${paths}::text[]) and city = ${city} and kind = 'rig'`.execute(tx);
  }

  /** Ends the memory of directories that their cities have no more. */
  async forget(tx: Tx, paths: readonly string[]): Promise<void> {
    if (paths.length === 0) return;
    await sql`
      delete from directories d where d.path = any(${paths}::text[])
        and not (d.held and exists (select from cities c where c.name = d.city))`.execute(tx);
  }

  /** A city that comes back under another name brings its rigs along. */
  async moveRigs(tx: Tx, path: string, city: string): Promise<void> {
    await sql`
      update directories d set city = ${city}, updated_at = now()
      from directories f
      where f.path = ${path} and f.kind = 'city' and f.city <> ${city} and d.city = f.city and d.kind = 'rig'
        and not exists (select from cities c where c.name = f.city)`.execute(tx);
  }

  async #put(tx: Tx, path: string, city: string, kind: 'city' | 'rig', held: boolean): Promise<void> {
    await sql`
      insert into directories (path, city, kind, held) values (${path}, ${city}, ${kind}, ${held})
      on conflict (path) do update set city = excluded.city, kind = excluded.kind, held = excluded.held, updated_at = now()`.execute(tx);
  }
}

/** The path and all directories above it. */
function waysTo(path: string): string[] {
  const ways: string[] = [];
  for (let at = path.indexOf('/', 1); at !== -1; at = path.indexOf('/', at + 1)) ways.push(path.slice(0, at + 1));
  return ways;
}
