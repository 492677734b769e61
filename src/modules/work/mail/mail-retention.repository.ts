import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';

export interface Swept {
  readonly id: string;
  readonly rig: string;
  readonly read: boolean;
}

/** Counted from when it was read, so that nothing disappears under its reader. */
const READ_KEPT = sql`interval '60 minutes'`;
const ARCHIVE_KEPT = sql`interval '30 days'`;

const READ_DUE = sql`message_is_open(m) and m.read_at <= now() - ${READ_KEPT}`;
const UNREAD_DUE = sql`message_is_open(m) and m.read_at is null and m.created_at <= now() - s.unread_retention`;

/** All SQL of what happens to mail by its age. */
@Injectable()
export class MailRetentionRepository {
  constructor(private readonly db: Db) {}

  /** The running cities that have something to sweep. */
  async due(): Promise<CityScope[]> {
    const { rows } = await sql<CityScope>`
      select c.id, c.name, c.dir as path, e.name as stream, e.id as "streamId"
      from cities c join event_streams e on e.id = c.stream_id
      where c.running and (
        exists (select from messages m where m.stream_id = e.id and ${READ_DUE})
        or exists (select from mail_settings s join messages m on m.stream_id = s.stream_id where s.stream_id = e.id and ${UNREAD_DUE}))
      order by c.id`.execute(this.db);
    return rows;
  }

  /** Archives up to `limit` messages of a city whose time has come. Its caller holds the city's work lock. */
  async sweep(tx: Tx, streamId: number, limit: number): Promise<Swept[]> {
    const { rows } = await sql<Swept>`
      with due as (
        (select m.id from messages m where m.stream_id = ${streamId} and ${READ_DUE} order by m.read_at limit ${limit})
        union all
        (select m.id from mail_settings s join messages m on m.stream_id = s.stream_id
         where s.stream_id = ${streamId} and ${UNREAD_DUE} order by m.created_at limit ${limit})
        limit ${limit}
      )
      update messages m set archived_at = clock_timestamp(), archived_as = 'swept' from due
      where m.stream_id = ${streamId} and m.id = due.id
      returning m.id, m.rig, m.read_at is not null as read`.execute(tx);
    return rows;
  }

  /** How long a city keeps what is archived; undefined for as long as others do. */
  async keepArchived(tx: Tx, streamId: number, ms: number | undefined): Promise<void> {
    await sql`update mail_cities set archive_ms = ${ms ?? null} where stream_id = ${streamId}`.execute(tx);
  }

  /** Deletes up to `limit` messages for good whose time in the archive of their city is over. Several may do this at once. Returns how many. */
  async purge(tx: Tx, limit: number): Promise<number> {
    const { numAffectedRows } = await sql`
      delete from messages where (stream_id, id) in (
        select o.stream_id, o.id from event_streams e left join mail_cities c on c.stream_id = e.id
        cross join lateral (
          select m.stream_id, m.id from messages m
          where m.stream_id = e.id and m.archived_at <= now() - coalesce(c.archive_ms * interval '1 millisecond', ${ARCHIVE_KEPT})
          order by m.archived_at limit ${limit} for update skip locked) o
        limit ${limit})`.execute(tx);
    return Number(numAffectedRows ?? 0n);
  }
}
