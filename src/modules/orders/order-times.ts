import { Injectable } from '@nestjs/common';
import type { Tx } from '../../platform/database/transactions.js';
import { FiringsRepository } from './firings.repository.js';

/** What time it is for orders: the database's clock, one for all workers. Tests have another. Leases never ask it. */
@Injectable()
export class OrderTimes {
  constructor(private readonly repository: FiringsRepository) {}

  now(tx?: Tx): Promise<Date> {
    return this.repository.now(tx);
  }
}
