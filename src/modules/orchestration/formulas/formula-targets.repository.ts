import { Injectable } from '@nestjs/common';
import { Db } from '../../../platform/database/database.js';

/** All SQL about what a formula is previewed for. */
@Injectable()
export class FormulaTargetsRepository {
  constructor(private readonly db: Db) {}

  /** The type of a bead; undefined when there is none. */
  async beadType(streamId: number, id: string): Promise<string | undefined> {
    const row = await this.db
      .selectFrom('beads')
      .select('issue_type')
      .where('stream_id', '=', streamId)
      .where('id', '=', id)
      .executeTakeFirst();
    return row?.issue_type;
  }
}
