import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { SessionRow } from '../session-store/session-row.js';

export interface CommandState {
  readonly status: 'waiting' | 'taken' | 'done' | 'failed';
  readonly error: string | null;
  /** The process that it was meant for is there no more. */
  readonly outlived: boolean;
}

/** What is asked of the process that a session has at this moment. */
@Injectable()
export class SessionCommandsRepository {
  constructor(private readonly db: Db) {}

  async insert(tx: Tx, { pk, generation }: SessionRow, kind: 'interrupt' | 'set_option', body: object): Promise<number> {
    const { rows } = await sql<{ pk: number }>`
      insert into session_commands (session_pk, generation, kind, body) values (${pk}, ${generation}, ${kind}, ${JSON.stringify(body)}::jsonb)
      returning pk`.execute(tx);
    return rows[0]!.pk;
  }

  /** Undefined when the session was deleted. */
  async find(pk: number): Promise<CommandState | undefined> {
    const { rows } = await sql<CommandState>`
      select c.status, c.error, (not s.live or s.generation <> c.generation) as outlived
      from session_commands c join sessions s on s.pk = c.session_pk where c.pk = ${pk}`.execute(this.db);
    return rows[0];
  }
}
