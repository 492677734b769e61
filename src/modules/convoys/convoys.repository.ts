import { Injectable } from '@nestjs/common';
import type { Tx } from '../../platform/database/transactions.js';

/** All SQL of convoys beyond what closes them. */
@Injectable()
export class ConvoysRepository {
  /** The id of the convoy that follows a slung bead and is not closed. */
  async liveSlingConvoy(tx: Tx, streamId: number, beadId: string): Promise<string | undefined> {
    const row = await tx
      .selectFrom('beads')
      .select('id')
      .where('stream_id', '=', streamId)
      .where('sling_source', '=', beadId)
      .where('status', '<>', 'closed')
      .executeTakeFirst();
    return row?.id;
  }
}
