import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';

export interface KeptCity {
  readonly name: string;
  readonly path: string;
  readonly streamId: number;
}

/** A worker counts while it beats. */
const LIVE = sql`p.stopped_at is null and p.heartbeat_at > now() - interval '10 seconds'`;

/** Which worker looks after the files of which city. */
@Injectable()
export class ConfigKeeperRepository {
  constructor(private readonly db: Db) {}

  /** Takes the running cities that no living worker looks after. Answers all that `keeper` has; holding them costs no writes. */
  async keep(keeper: string): Promise<KeptCity[]> {
    // Cities that ran before there were revisions have no state yet.
    await sql`
      insert into config_states (stream_id) select c.stream_id from cities c
      where c.running and not exists (select from config_states s where s.stream_id = c.stream_id) on conflict do nothing`.execute(this.db);
    await sql`
      with free as (
        select s.stream_id from config_states s join cities c on c.stream_id = s.stream_id
        where c.running and s.keeper is distinct from ${keeper}
          and (s.keeper is null or not exists (select from processes p where p.id = s.keeper and ${LIVE}))
        for update of s skip locked)
      update config_states s set keeper = ${keeper} from free where s.stream_id = free.stream_id`.execute(this.db);
    const { rows } = await sql<KeptCity>`
      select s.stream_id as "streamId", c.name, c.dir as path from config_states s join cities c on c.stream_id = s.stream_id
      where c.running and s.keeper = ${keeper} order by c.name`.execute(this.db);
    return rows;
  }

  /** Lets another worker take over at once. */
  async release(keeper: string): Promise<void> {
    await sql`update config_states set keeper = null where keeper = ${keeper}`.execute(this.db);
  }
}
