import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Tx } from '../../../platform/database/transactions.js';
import type { Price } from './prices.js';

export interface UsageSettings {
  readonly zone: string;
  readonly recorded: boolean;
  readonly prices: readonly Price[];
}

/** The SQL of following what cities say of their usage. */
@Injectable()
export class UsageSyncRepository {
  /** Of a city whose row is locked. */
  async save(tx: Tx, streamId: number, { zone, recorded, prices }: UsageSettings): Promise<void> {
    await sql`
      update usage_cities set zone = known_zone(${zone}), recorded = ${recorded}, prices = ${JSON.stringify(prices)}::jsonb
      where stream_id = ${streamId}`.execute(tx);
  }
}
