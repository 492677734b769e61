import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';

export interface KeptCity {
  readonly name: string;
  readonly path: string;
  readonly streamId: number;
}

/** How the running cities are shared by the workers. */
export interface Shares {
  /** Running cities, and those of them that this worker has, and that no living worker has. */
  readonly all: number;
  readonly own: number;
  readonly free: number;
  /** Of those without any state yet. */
  readonly unknown: number;
  /** Workers that live. */
  readonly workers: number;
  /** Another one whenever this worker has others than before. */
  readonly which: string;
}

/** A worker counts while it beats. */
const LIVE = sql`p.stopped_at is null and p.heartbeat_at > now() - interval '10 seconds' and p.role in ('all', 'worker')`;

/** Which worker looks after the files of which city. Holding them costs no writes. */
@Injectable()
export class ConfigKeeperRepository {
  constructor(private readonly db: Db) {}

  async shares(keeper: string): Promise<Shares> {
    const { rows } = await sql<Shares>`
      with living as materialized (select p.id from processes p where ${LIVE})
      select count(*)::int as all, count(*) filter (where s.keeper = ${keeper})::int as own,
        count(*) filter (where l.id is null and s.keeper is distinct from ${keeper})::int as free,
        count(*) filter (where s.stream_id is null)::int as unknown, (select count(*)::int from living) as workers,
        coalesce(bit_xor(hashint8extended(c.id, 0)) filter (where s.keeper = ${keeper}), 0)::text as which
      from cities c left join config_states s on s.stream_id = c.stream_id left join living l on l.id = s.keeper
      where c.running`.execute(this.db);
    return rows[0]!;
  }

  /** Cities that ran before there were revisions have no state yet. */
  async know(): Promise<void> {
    await sql`
      insert into config_states (stream_id) select c.stream_id from cities c
      where c.running and not exists (select from config_states s where s.stream_id = c.stream_id) on conflict do nothing`.execute(this.db);
  }

  /** Takes up to `limit` of the running cities that no living worker looks after. */
  async take(keeper: string, limit: number): Promise<void> {
    await sql`
      with free as (
        select s.stream_id from config_states s join cities c on c.stream_id = s.stream_id
        where c.running and s.keeper is distinct from ${keeper}
          and (s.keeper is null or not exists (select from processes p where p.id = s.keeper and ${LIVE}))
        limit ${limit} for update of s skip locked)
      update config_states s set keeper = ${keeper} from free where s.stream_id = free.stream_id`.execute(this.db);
  }

  /** Leaves up to `limit` to others. */
  async leave(keeper: string, limit: number): Promise<void> {
    await sql`
      update config_states s set keeper = null where s.keeper = ${keeper} and s.stream_id in (
        select o.stream_id from config_states o join cities c on c.stream_id = o.stream_id
        where c.running and o.keeper = ${keeper} order by o.stream_id desc limit ${limit})`.execute(this.db);
  }

  async kept(keeper: string): Promise<KeptCity[]> {
    const { rows } = await sql<KeptCity>`
      select s.stream_id as "streamId", c.name, c.dir as path from config_states s join cities c on c.stream_id = s.stream_id
      where c.running and s.keeper = ${keeper} order by c.name`.execute(this.db);
    return rows;
  }

  /** What the files of a city were when they were composed last, as it was stored. */
  async ledger(streamId: number): Promise<string | undefined> {
    const { rows } = await sql<{ ledger: string | null }>`select ledger from config_states where stream_id = ${streamId}`.execute(this.db);
    return rows[0]?.ledger ?? undefined;
  }

  /** Lets other workers take over at once. */
  async release(keeper: string): Promise<void> {
    await sql`update config_states set keeper = null where keeper = ${keeper}`.execute(this.db);
  }
}
