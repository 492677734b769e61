import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { FollowedCity, FollowerTable, RunningTable } from './follower.js';

/** What a row says was followed. */
export interface Noted {
  /** 0: nothing yet. */
  readonly revision: number;
  readonly running?: boolean;
  /** Whether the city runs; null for one that is not registered. */
  readonly runs: boolean | null;
}

const among = (name: RawBuilder<unknown>, names: readonly string[] | undefined): RawBuilder<unknown> =>
  names === undefined ? sql`true` : sql`${name} = any(${[...names]}::text[])`;
const ofStreams = (names: readonly string[] | undefined): RawBuilder<unknown> =>
  names === undefined ? sql`true` : sql`f.stream_id in (select n.id from event_streams n where ${among(sql`n.name`, names)})`;

/** The SQL of following what cities run. Each follower has a table of its own. */
@Injectable()
export class FollowingRepository {
  constructor(private readonly db: Db) {}

  /** Cities behind `after`, of `names` only when given, whose configuration has moved on since it was followed, in the order of their streams. */
  async moved(table: FollowerTable, after: number, limit: number, names?: readonly string[]): Promise<FollowedCity[]> {
    const { rows } = await sql<FollowedCity>`
      select c.name, c.stream_id as "streamId" from cities c join config_states s on s.stream_id = c.stream_id
      left join ${sql.table(table)} f on f.stream_id = c.stream_id
      where c.stream_id > ${after} and ${among(sql`c.name`, names)} and s.revision > 0 and s.revision is distinct from f.revision
      order by c.stream_id limit ${limit}`.execute(this.db);
    return rows;
  }

  /** The same; also those that run since, or do not any more, and those that are registered no more. The table has `running`. */
  async movedOrGone(table: RunningTable, after: number, limit: number, names?: readonly string[]): Promise<FollowedCity[]> {
    const { rows } = await sql<FollowedCity>`
      select e.name, e.id as "streamId" from event_streams e where e.id in (
        (select c.stream_id from cities c join config_states s on s.stream_id = c.stream_id
          left join ${sql.table(table)} f on f.stream_id = c.stream_id
          where c.stream_id > ${after} and ${among(sql`c.name`, names)} and s.revision > 0
            and (s.revision is distinct from f.revision or c.running is distinct from f.running)
          order by c.stream_id limit ${limit})
        union all
        (select f.stream_id from ${sql.table(table)} f
          where f.stream_id > ${after} and ${ofStreams(names)}
            and not exists (select from cities c where c.stream_id = f.stream_id)
          order by f.stream_id limit ${limit}))
      order by e.id limit ${limit}`.execute(this.db);
    return rows;
  }

  /**
   * What was followed of a city last, locked; undefined while somebody else has it. Whether it runs is as of the beginning of a statement: what
   * changes that moves the log of the city, and a turn after it finds the difference.
   */
  async lock(tx: Tx, table: FollowerTable, streamId: number): Promise<Noted | undefined> {
    const runs = sql`(select running from cities where stream_id = ${streamId}) as runs`;
    const made = await sql<Noted>`
      insert into ${sql.table(table)} (stream_id) values (${streamId}) on conflict do nothing returning revision, ${runs}`.execute(tx);
    if (made.rows.length > 0) return made.rows[0];
    const { rows } = await sql<Noted>`
      select f.*, ${runs} from ${sql.table(table)} f where f.stream_id = ${streamId} for update of f skip locked`.execute(tx);
    return rows[0];
  }

  async save(tx: Tx, table: FollowerTable, streamId: number, revision: number): Promise<void> {
    await sql`update ${sql.table(table)} set revision = ${revision} where stream_id = ${streamId}`.execute(tx);
  }

  async saveRunning(tx: Tx, table: RunningTable, streamId: number, revision: number, running: boolean): Promise<void> {
    await sql`update ${sql.table(table)} set revision = ${revision}, running = ${running} where stream_id = ${streamId}`.execute(tx);
  }

  async remove(tx: Tx, table: FollowerTable, streamId: number): Promise<void> {
    await sql`delete from ${sql.table(table)} where stream_id = ${streamId}`.execute(tx);
  }
}
