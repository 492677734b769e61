import { Injectable } from '@nestjs/common';
import { auditInsert } from '../../../platform/audit/audit-insert.js';
import { PgPool } from '../../../platform/database/database.js';

export type EmitOutcome = 'recorded' | 'replayed' | 'mismatch' | 'not_running' | 'busy';

export interface EmitResult {
  readonly outcome: EmitOutcome;
  /** The position of the event, when it is there now. */
  readonly seq: number | null;
}

/** What is to be appended to the stream of a city: its JSON text, as `emit_events` takes it. */
export interface Emitting {
  readonly city: string;
  readonly text: string;
}

interface Row extends EmitResult {
  readonly ord: number;
}

/** The record of one that is appended comes with it. */
const SINGLE = `
  with done as materialized (select ord, outcome, seq from emit_event($1, $2::jsonb, $4)),
  audited as (${auditInsert('$3', "join done on done.ord = r.ord and done.outcome = 'recorded'")})
  select ord, outcome, seq from done`;

/** The function writes the records itself. */
const MANY = 'select ord, outcome, seq from emit_events($1::jsonb, $3, $2::jsonb)';

/** The statements of the emit path, prepared by name on every connection: one for a single item, one for a batch. */
@Injectable()
export class EmitRepository {
  constructor(private readonly pool: PgPool) {}

  /** Appends items in one transaction. It `wait`s for those of one city; without, those of a city in which somebody else writes are busy. */
  async emit(items: readonly Emitting[], wait: boolean, records: string): Promise<EmitResult[]> {
    const [{ city, text }] = items as [Emitting];
    const { rows } = await this.pool.query<Row>(
      items.length === 1
        ? { name: 'emit-one-event', text: SINGLE, values: [city, text, records, wait] }
        : { name: 'emit-many-events', text: MANY, values: [`[${items.map((item) => item.text).join(',')}]`, records, wait] },
    );
    const results: EmitResult[] = [];
    for (const { ord, outcome, seq } of rows) results[ord] = { outcome, seq };
    return results;
  }
}
