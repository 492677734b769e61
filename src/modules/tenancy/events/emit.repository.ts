import { Injectable } from '@nestjs/common';
import { auditInsert } from '../../../platform/audit/audit-insert.js';
import { PgPool } from '../../../platform/database/database.js';

export type EmitOutcome = 'recorded' | 'replayed' | 'mismatch';

export interface EmitResult {
  readonly outcome: EmitOutcome;
  readonly seq: number;
}

interface Row {
  readonly ord: number;
  readonly outcome: EmitOutcome | 'not_running';
  readonly seq: number | null;
}

/** The records of those that are appended come with them. */
const emitting = (call: string): string => `
  with done as materialized (select ord, outcome, seq from ${call}),
  audited as (${auditInsert('$3', "join done on done.ord = r.ord and done.outcome = 'recorded'")})
  select ord, outcome, seq from done`;

/** The statement of the emit path, prepared by name on every connection: one for a single item, one for a batch. */
@Injectable()
export class EmitRepository {
  constructor(private readonly pool: PgPool) {}

  /** Appends items (each the JSON text of one) to the city's stream in one transaction; undefined when the city does not run. */
  async emit(city: string, items: readonly string[], records: string): Promise<EmitResult[] | undefined> {
    const [single] = items;
    const { rows } = await this.pool.query<Row>(
      items.length === 1
        ? { name: 'emit-event', text: emitting('emit_event($1, $2::jsonb)'), values: [city, single, records] }
        : { name: 'emit-events', text: emitting('emit_events($1, $2::jsonb)'), values: [city, `[${items.join(',')}]`, records] },
    );
    const results: EmitResult[] = [];
    for (const row of rows) {
      if (row.outcome === 'not_running') return undefined;
      results[row.ord] = { outcome: row.outcome, seq: row.seq! };
    }
    return results;
  }
}
