import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Bearer } from '../agents/agent-lines.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';

export interface RigActivity {
  /** The head of the city's log in the same snapshot. */
  readonly head: number;
  /** When a bead of a rig changed last, by rig. */
  readonly newest: ReadonlyMap<string, Date>;
}

/** What rigs are seen to do. */
@Injectable()
export class RigsRepository {
  constructor(private readonly db: Db) {}

  async activity(streamId: number): Promise<RigActivity> {
    const { rows } = await sql<{ head: number; rig: string | null; newest: Date | null }>`
      select e.head, b.rig, b.newest from event_streams e
        left join (select rig, max(coalesce(updated_at, created_at)) as newest from beads where stream_id = ${streamId} and rig <> '' group by rig) b on true
      where e.id = ${streamId}`.execute(this.db);
    const newest = rows.flatMap(({ rig, newest: at }) => (rig === null || at === null ? [] : [[rig, at] as const]));
    return { head: rows[0]?.head ?? 0, newest: new Map(newest) };
  }

  /** The open sessions of agents of rigs. */
  async bearers(streamId: number): Promise<readonly Bearer[]> {
    const { rows } = await sql<Bearer>`
      select coalesce(agent_name, agent) as name, agent, slot, live from sessions
      where stream_id = ${streamId} and state <> 'closed' and agent is not null and rig <> ''`.execute(this.db);
    return rows;
  }

  /** The sessions of a rig that have a process, or may have one, by pk. */
  async withProcess(streamId: number, rig: string): Promise<{ readonly pk: number; readonly generation: number }[]> {
    const { rows } = await sql<{ pk: number; generation: number }>`
      select pk, generation from sessions where stream_id = ${streamId} and rig = ${rig} and runner_id is not null order by pk`.execute(
      this.db,
    );
    return rows;
  }

  /** A running city as workers find it. */
  async runningCity(streamId: number): Promise<CityScope | undefined> {
    const { rows } = await sql<CityScope>`
      select c.id, c.name, c.dir as path, c.name as stream, c.stream_id as "streamId" from cities c
      where c.stream_id = ${streamId} and c.running`.execute(this.db);
    return rows[0];
  }
}
