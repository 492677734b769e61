import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { GatheredReads } from '../../../platform/database/gathered-reads.js';
import type { CommandKind, CommandRow } from './command-token.js';

export interface CommandCaller {
  readonly pk: number;
  /** Of its token. */
  readonly hash: Buffer;
  /** As what it works: `order:<order>` or `check:<formula>`. */
  readonly actor: string;
  readonly city: string;
}

/** While a worker has the lease of what it carries out: whatever has become of the process, nobody else has its rights then. */
const HELD = sql`worker is not null and lease_until > now() and token_hash is not null`;

/** Which command calls. Nothing of it is kept: one that has ended has no rights any more. */
@Injectable()
export class CommandCallersRepository {
  readonly #callers = { firing: this.#reads('firing'), check: this.#reads('check') };

  constructor(private readonly db: Db) {}

  #reads(kind: CommandKind): GatheredReads<number, CommandCaller> {
    return new GatheredReads(async (pks) => (await this.#calling(kind, pks)).map((row) => [row.pk, row] as const));
  }

  /** What is carried out, with the hash of the token of whoever does it. */
  caller({ kind, pk }: CommandRow): Promise<CommandCaller | undefined> {
    return this.#callers[kind].read(pk);
  }

  async #calling(kind: CommandKind, pks: readonly number[]): Promise<readonly CommandCaller[]> {
    const wanted = sql`unnest((select ${[...pks]}::bigint[])) as asked(pk)`;
    const { rows } = await (
      kind === 'firing'
        ? sql<CommandCaller>`
            select c.pk, c.hash, c.actor, e.name as city from ${wanted}
            cross join lateral (
              select f.pk, f.token_hash as hash, 'order:' || f.scoped_name as actor, f.stream_id from order_firings f
              where f.pk = asked.pk and ${HELD} limit 1) c
            cross join lateral (select e.name from event_streams e where e.id = c.stream_id limit 1) e`
        : sql<CommandCaller>`
            select c.pk, c.hash, 'check:' || r.formula as actor, e.name as city from ${wanted}
            cross join lateral (
              select k.pk, k.token_hash as hash, k.stream_id, k.run_id from run_checks k where k.pk = asked.pk and ${HELD} limit 1) c
            cross join lateral (select r.formula from runs r where r.stream_id = c.stream_id and r.id = c.run_id limit 1) r
            cross join lateral (select e.name from event_streams e where e.id = c.stream_id limit 1) e`
    ).execute(this.db);
    return rows;
  }
}
