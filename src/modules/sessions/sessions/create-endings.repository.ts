import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Tx } from '../../../platform/database/transactions.js';

/** SQL about the operations that make sessions. */
@Injectable()
export class CreateEndingsRepository {
  /** Waits for whoever changes the session of an operation: its row comes before the operation's. */
  async lockSession(tx: Tx, stream: string, sessionId: string): Promise<void> {
    await sql`
      select from sessions s join event_streams e on e.id = s.stream_id where e.name = ${stream} and s.id = ${sessionId} for no key update of s`.execute(
      tx,
    );
  }
}
