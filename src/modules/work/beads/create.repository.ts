import { Injectable } from '@nestjs/common';
import { auditInsert } from '../../../platform/audit/audit-insert.js';
import { PgPool } from '../../../platform/database/database.js';

export type CreateOutcome = 'created' | 'replayed' | 'mismatch' | 'no_rig' | 'no_parent' | 'again';

export interface CreateResult {
  readonly outcome: CreateOutcome;
  /** The bead's JSON, when it is there now. */
  readonly bead: string | null;
  /** The position of its event, or of the head for a replayed answer. */
  readonly seq: number | null;
}

interface Row {
  readonly ord: number;
  readonly outcome: CreateOutcome | 'not_running';
  readonly bead: string | null;
  readonly seq: number | null;
}

/** The records of those that are created come with them. */
const creating = (call: string): string => `
  with done as materialized (select ord, outcome, bead, seq from ${call}),
  audited as (${auditInsert('$3', "join done on done.ord = r.ord and done.outcome = 'created'")})
  select ord, outcome, bead, seq from done`;

/** The statements of the create path, prepared by name on every connection: one for a single item, one for a batch. */
@Injectable()
export class CreateRepository {
  constructor(private readonly pool: PgPool) {}

  /** Creates items (each the JSON text of one) in one transaction; undefined when the city does not run. */
  async create(city: string, items: readonly string[], records: string): Promise<CreateResult[] | undefined> {
    const [single] = items;
    const { rows } = await this.pool.query<Row>(
      items.length === 1
        ? { name: 'create-bead', text: creating('create_bead($1, $2::jsonb)'), values: [city, single, records] }
        : {
            name: 'create-beads',
            text: creating('create_beads($1, $2::jsonb)'),
            values: [city, `[${items.join(',')}]`, records],
          },
    );
    const results: CreateResult[] = [];
    for (const { ord, outcome, bead, seq } of rows) {
      if (outcome === 'not_running') return undefined;
      results[ord] = { outcome, bead, seq };
    }
    return results;
  }
}
