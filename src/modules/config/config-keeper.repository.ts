import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../platform/database/database.js';

export interface KeptCity {
  readonly name: string;
  readonly path: string;
  readonly streamId: number;
}

const KEPT = sql`s.stream_id as "streamId", c.name, c.dir as path`;

/** Which worker looks after the files of which city. */
@Injectable()
export class ConfigKeeperRepository {
  constructor(private readonly db: Db) {}

  /** Renews the hold on the running cities that `keeper` has and takes those that nobody looks after. Answers all it has. */
  async keep(keeper: string, seconds: number): Promise<KeptCity[]> {
    // Cities that ran before there were revisions have no state yet.
    await sql`
      insert into config_states (stream_id) select c.stream_id from cities c
      where c.running and not exists (select from config_states s where s.stream_id = c.stream_id) on conflict do nothing`.execute(this.db);
    const { rows } = await sql<KeptCity>`
      with mine as (
        select s.stream_id from config_states s join cities c on c.stream_id = s.stream_id
        where c.running and (s.keeper = ${keeper} or s.keeper_until is null or s.keeper_until < clock_timestamp())
        for update of s skip locked)
      update config_states s set keeper = ${keeper}, keeper_until = clock_timestamp() + ${seconds}::float8 * interval '1 second'
      from mine, cities c where s.stream_id = mine.stream_id and c.stream_id = s.stream_id returning ${KEPT}`.execute(this.db);
    return rows;
  }

  /** Lets another worker take over at once. */
  async release(keeper: string): Promise<void> {
    await sql`update config_states set keeper = null, keeper_until = null where keeper = ${keeper}`.execute(this.db);
  }
}
