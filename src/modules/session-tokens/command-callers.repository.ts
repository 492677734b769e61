import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../platform/database/database.js';
import type { CommandRow } from './command-token.js';

export interface CommandCaller {
  /** As what it works: `order:<order>` or `check:<formula>`. */
  readonly actor: string;
  readonly city: string;
}

/** While a worker has the lease of what it carries out: whatever has become of the process, nobody else has its rights then. */
const HELD = sql`worker is not null and lease_until > now() and token_hash is not null`;

/** Which command calls. Nothing of it is kept: one that has ended has no rights any more. */
@Injectable()
export class CommandCallersRepository {
  constructor(private readonly db: Db) {}

  /** The one that is carried out with this token. */
  async find({ kind, pk }: CommandRow, hash: Buffer): Promise<CommandCaller | undefined> {
    const { rows } = await (
      kind === 'firing'
        ? sql<CommandCaller>`
            select 'order:' || f.scoped_name as actor, e.name as city from order_firings f join event_streams e on e.id = f.stream_id
            where f.pk = ${pk} and f.token_hash = ${hash} and ${HELD}`
        : sql<CommandCaller>`
            select 'check:' || r.formula as actor, e.name as city from run_checks c join event_streams e on e.id = c.stream_id
            join runs r on r.stream_id = c.stream_id and r.id = c.run_id
            where c.pk = ${pk} and c.token_hash = ${hash} and ${HELD}`
    ).execute(this.db);
    return rows[0];
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
