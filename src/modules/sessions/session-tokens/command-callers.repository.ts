import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { GatheredReads } from '../../../platform/database/gathered-reads.js';
import type { CommandKind, CommandRow } from './command-token.js';

export interface CommandCaller {
  /** As what it works: `order:<order>` or `check:<formula>`. */
  readonly actor: string;
  readonly city: string;
}

interface CallerRow extends CommandCaller {
  readonly pk: number;
  /** Of its token. */
  readonly hash: Buffer;
}

/** While a worker has the lease of what it carries out: whatever has become of the process, nobody else has its rights then. */
const HELD = sql`worker is not null and lease_until > now() and token_hash is not null`;

/** Which command calls. Nothing of it is kept: one that has ended has no rights any more. */
@Injectable()
export class CommandCallersRepository {
  readonly #callers = { firing: this.#reads('firing'), check: this.#reads('check') };

  constructor(private readonly db: Db) {}

  #reads(kind: CommandKind): GatheredReads<number, CallerRow> {
    return new GatheredReads(async (pks) => (await this.#calling(kind, pks)).map((row) => [row.pk, row] as const));
  }

  /** The one that is carried out with this token. */
  async find({ kind, pk }: CommandRow, hash: Buffer): Promise<CommandCaller | undefined> {
    const row = await this.#callers[kind].read(pk);
    return row?.hash.equals(hash) === true ? row : undefined;
  }

  async #calling(kind: CommandKind, pks: readonly number[]): Promise<readonly CallerRow[]> {
    const wanted = sql`unnest((select ${[...pks]}::bigint[])) as asked(pk)`;
    const { rows } = await (
      kind === 'firing'
        ? sql<CallerRow>`
            select c.pk, c.hash, c.actor, e.name as city from ${wanted}
            cross join lateral (
              select f.pk, f.token_hash as hash, 'order:' || f.scoped_name as actor, f.stream_id from order_firings f
              where f.pk = asked.pk and ${HELD} limit 1) c
            cross join lateral (select e.name from event_streams e where e.id = c.stream_id limit 1) e`
        : sql<CallerRow>`
            select c.pk, c.hash, 'check:' || r.formula as actor, e.name as city from ${wanted}
            cross join lateral (
              select k.pk, k.token_hash as hash, k.stream_id, k.run_id from run_checks k where k.pk = asked.pk and ${HELD} limit 1) c
            cross join lateral (select r.formula from runs r where r.stream_id = c.stream_id and r.id = c.run_id limit 1) r
            cross join lateral (select e.name from event_streams e where e.id = c.stream_id limit 1) e`
    ).execute(this.db);
    return rows;
  }

  async isLive({ kind, pk }: CommandRow): Promise<boolean> {
    const { rows } = await (
      kind === 'firing'
        ? sql`select 1 from order_firings where pk = ${pk} and ${HELD}`
        : sql`select 1 from run_checks where pk = ${pk} and ${HELD}`
    ).execute(this.db);
    return rows.length === 1;
  }
}
