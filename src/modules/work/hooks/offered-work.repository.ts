import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import { Db, type Database } from '../../../platform/database/database.js';

export interface OfferedRow {
  readonly route: string;
  readonly id: string;
  /** When it was changed last, or made. */
  readonly at: Date;
}

export interface AssignedRow {
  readonly assignee: string;
  readonly id: string;
  /** The session that has begun it; null for none. */
  readonly session: string | null;
  readonly begun: boolean;
  /** Somebody keeps it by a lease of its own. */
  readonly leased: boolean;
}

/** What is on whose hook, for who starts sessions: by the predicates that claims ask. */
@Injectable()
export class OfferedWorkRepository {
  constructor(private readonly db: Db) {}

  /** What nobody has taken, the oldest first; up to `limit` beads a city. */
  async offered(streamId: number, limit: number, db: Kysely<Database> = this.db): Promise<OfferedRow[]> {
    const { rows } = await sql<OfferedRow>`
      select o.route, o.id, o.at from (
        select b.routed_to as route, b.id, coalesce(b.updated_at, b.created_at) as at, b.created_at from beads b
        where b.stream_id = ${streamId} and bead_is_offered(b) limit ${limit}
      ) o order by o.route collate "C", o.created_at, o.id`.execute(db);
    return rows;
  }

  /** What its owner can go on with or begin; up to `limit` beads a city. */
  async assigned(streamId: number, limit: number, db: Kysely<Database> = this.db): Promise<AssignedRow[]> {
    const { rows } = await sql<AssignedRow>`
      select b.assignee, b.id, nullif(b.metadata ->> 'gc.session_id', '') as session, b.status = 'in_progress' as begun,
        b.lease_until is not null as leased
      from beads b
      where b.stream_id = ${streamId} and b.assignee is not null and b.status <> 'closed' and (b.status = 'in_progress' or bead_is_doable(b))
      order by b.assignee, b.status, coalesce(b.priority, 2), b.created_at, b.id limit ${limit}`.execute(db);
    return rows;
  }

  /** When the next deferred bead may be begun; undefined when none is deferred. */
  async nextDeferred(streamId: number, db: Kysely<Database> = this.db): Promise<Date | undefined> {
    const { rows } = await sql<{ at: Date | null }>`
      select min(b.defer_until) as at from beads b
      where b.stream_id = ${streamId} and b.status = 'open' and b.defer_until is not null and b.defer_until > now()`.execute(db);
    return rows[0]?.at ?? undefined;
  }
}
