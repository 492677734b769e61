import { Injectable } from '@nestjs/common';
import { auditInsert } from '../../../platform/audit/audit-insert.js';
import { PgPool } from '../../../platform/database/database.js';

export type CreateOutcome = 'created' | 'replayed' | 'mismatch' | 'no_rig' | 'no_parent' | 'not_running' | 'again' | 'busy';

export interface CreateResult {
  readonly outcome: CreateOutcome;
  /** The bead's JSON, when it is there now. */
  readonly bead: string | null;
  /** The position of its event, or of the head for a replayed answer. */
  readonly seq: number | null;
}

/** What is to be created in a city: its JSON text, as `create_beads` takes it. */
export interface Creating {
  readonly city: string;
  readonly text: string;
}

interface Row extends CreateResult {
  readonly ord: number;
}

/** The record of one that is created comes with it. */
const SINGLE = `
  with done as materialized (select ord, outcome, bead, seq from create_bead($1, $2::jsonb, $4)),
  audited as (${auditInsert('$3', "join done on done.ord = r.ord and done.outcome = 'created'")})
  select ord, outcome, bead, seq from done`;

/** The function writes the records itself. */
const MANY = 'select ord, outcome, bead, seq from create_beads($1::jsonb, $3, $2::jsonb)';

/** The statements of the create path, prepared by name on every connection: one for a single item, one for a batch. */
@Injectable()
export class CreateRepository {
  constructor(private readonly pool: PgPool) {}

  /** Creates items in one transaction. It `wait`s for those of one city; without, those of a city that somebody else works in are busy. */
  async create(items: readonly Creating[], wait: boolean, records: string): Promise<CreateResult[]> {
    const [{ city, text }] = items as [Creating];
    const { rows } = await this.pool.query<Row>(
      items.length === 1
        ? { name: 'create-one-bead', text: SINGLE, values: [city, text, records, wait] }
        : { name: 'create-many-beads', text: MANY, values: [`[${items.map((item) => item.text).join(',')}]`, records, wait] },
    );
    const results: CreateResult[] = [];
    for (const { ord, outcome, bead, seq } of rows) results[ord] = { outcome, bead, seq };
    return results;
  }
}
