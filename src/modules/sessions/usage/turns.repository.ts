import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Tx } from '../../../platform/database/transactions.js';
import type { TurnUsage } from '../../../platform/runtime/port.js';
import type { TurnOwner } from './turn.js';

export interface AbandonedTurn {
  readonly turn: number;
  readonly generation: number;
}

/** What is written of turns. */
@Injectable()
export class TurnsRepository {
  /** False when it had begun before. */
  async begin(tx: Tx, { pk, stream_id, agent, provider, preset, generation }: TurnOwner, turn: number): Promise<boolean> {
    const { numAffectedRows } = await sql`
      insert into session_turns (session_pk, turn, stream_id, agent, provider, preset, generation)
      values (${pk}, ${turn}, ${stream_id}, ${agent}, ${provider}, ${preset}, ${generation}) on conflict do nothing`.execute(tx);
    return numAffectedRows === 1n;
  }

  /** Figures only ever replace what was known; with `stop` the turn is over. */
  async update(tx: Tx, { pk, generation }: TurnOwner, turn: number, usage: TurnUsage, stop?: string): Promise<boolean> {
    const { model, inputTokens, outputTokens, cacheReadTokens, cacheCreationTokens, costUsd } = usage;
    const figures = [inputTokens, outputTokens, cacheReadTokens, cacheCreationTokens, costUsd].map((n) => n ?? null);
    const [input, output, read, creation, cost] = figures;
    const { numAffectedRows } = await sql`
      update session_turns set
        model = coalesce(${model ?? null}::text, model),
        input_tokens = coalesce(${input}::bigint, input_tokens), output_tokens = coalesce(${output}::bigint, output_tokens),
        cache_read_tokens = coalesce(${read}::bigint, cache_read_tokens),
        cache_creation_tokens = coalesce(${creation}::bigint, cache_creation_tokens),
        cost_usd = coalesce(${cost}::float8, cost_usd),
        reported = reported or ${figures.some((n) => n !== null)},
        ended_at = case when ${stop ?? null}::text is null then ended_at else clock_timestamp() end,
        stop_reason = coalesce(${stop ?? null}::text, stop_reason)
      where session_pk = ${pk} and turn = ${turn} and generation = ${generation} and ended_at is null`.execute(tx);
    return numAffectedRows === 1n;
  }

  /** The process is gone, and with it the turn that it was in. Answers what has ended so. */
  async abandon(tx: Tx, sessionPk: number): Promise<readonly AbandonedTurn[]> {
    const { rows } = await sql<AbandonedTurn>`
      update session_turns set ended_at = clock_timestamp(), stop_reason = 'lost'
      where session_pk = ${sessionPk} and ended_at is null returning turn, generation`.execute(tx);
    return rows;
  }
}
