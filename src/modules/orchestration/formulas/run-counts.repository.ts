import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';

@Injectable()
export class RunCountsRepository {
  constructor(private readonly db: Db) {}

  /** How many runs of formulas of a place there have been; of one formula, or of all. */
  async byFormula(streamId: number, rig: string, formula?: string): Promise<Map<string, number>> {
    const { rows } = await sql<{ formula: string; runs: number }>`
      select c.formula, sum(c.runs)::bigint as runs from run_counts c
      where c.stream_id = ${streamId} and c.rig = ${rig} and ${formula === undefined ? sql`true` : sql`c.formula = ${formula}`}
      group by c.formula`.execute(this.db);
    return new Map(rows.map((row) => [row.formula, row.runs]));
  }
}
