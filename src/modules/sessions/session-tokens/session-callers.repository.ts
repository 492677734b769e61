import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { SessionCaller } from '../../../contract/principal.js';
import { Db } from '../../../platform/database/database.js';
import { GatheredReads } from '../../../platform/database/gathered-reads.js';

interface CallerRow {
  readonly pk: number;
  /** Of its token. */
  readonly hash: Buffer;
  readonly id: string;
  readonly session_name: string;
  readonly alias: string;
  readonly agent: string | null;
  readonly agent_name: string | null;
  readonly stream_id: number;
  readonly city: string;
}

/** Who calls, and what belongs to whom. Nothing of it is kept: a session that has ended has no rights any more. */
@Injectable()
export class SessionCallersRepository {
  readonly #callers = new GatheredReads<number, CallerRow>(async (pks) => (await this.#calling(pks)).map((row) => [row.pk, row] as const));

  constructor(private readonly db: Db) {}

  /** The session, if it has a process that may call, with the hash of the token of that one. */
  caller(pk: number): Promise<CallerRow | undefined> {
    return this.#callers.read(pk);
  }

  async #calling(pks: readonly number[]): Promise<readonly CallerRow[]> {
    const { rows } = await sql<CallerRow>`
      select c.pk, c.hash, c.id, c.session_name, c.alias, c.agent, c.agent_name, c.stream_id, e.name as city
      from unnest((select ${[...pks]}::bigint[])) as asked(pk)
      cross join lateral (
        select s.pk, s.token_hash as hash, s.id, s.session_name, s.alias, s.agent, s.agent_name, s.stream_id from sessions s
        where s.pk = asked.pk and s.token_hash is not null and s.runner_id is not null and s.state <> 'closed' limit 1) c
      cross join lateral (select e.name from event_streams e where e.id = c.stream_id limit 1) e`.execute(this.db);
    return rows;
  }

  /** Who has a bead under way; undefined when nobody has, or when it is not there. */
  async holder({ streamId }: SessionCaller, id: string): Promise<string | undefined> {
    const { rows } = await sql<{ assignee: string | null }>`
      select assignee from beads where stream_id = ${streamId} and id = ${id} and status = 'in_progress'`.execute(this.db);
    return rows[0]?.assignee || undefined;
  }

  /** Whether it has begun the bead, and had this alias at some time. */
  async hasBegun({ pk, id, streamId }: SessionCaller, bead: string, alias: string): Promise<boolean> {
    const { rows } = await sql<{ found: number }>`
      select 1 as found from sessions s join beads b on b.stream_id = s.stream_id and b.metadata ->> 'gc.session_id' = ${id}
      where s.pk = ${pk} and ${alias} = any(s.past_aliases) and b.stream_id = ${streamId} and b.id = ${bead}`.execute(this.db);
    return rows.length > 0;
  }

  /** Who waits: the session that was there when it was asked for, by its id, else whom the name means that was said; undefined for what is no wait. */
  async waiter({ streamId }: SessionCaller, id: string): Promise<string | undefined> {
    const { rows } = await sql<{ session: string | null }>`
      select coalesce(nullif(metadata ->> 'registered_session', ''), metadata ->> 'session_id') as session from beads
      where stream_id = ${streamId} and id = ${id} and issue_type = 'gate' and labels @> '{gc:wait}'`.execute(this.db);
    return rows[0]?.session ?? undefined;
  }

  /** Whose mailbox a message lies in: `human` or `agent:<name>`; undefined when it is not there. */
  async mailbox({ streamId }: SessionCaller, id: string): Promise<string | undefined> {
    const { rows } = await sql<{ principal: string }>`
      select principal from messages where stream_id = ${streamId} and id = ${id}`.execute(this.db);
    return rows[0]?.principal;
  }
}
