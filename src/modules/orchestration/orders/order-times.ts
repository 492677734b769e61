import { Injectable } from '@nestjs/common';
import type { Tx } from '../../../platform/database/transactions.js';
import { FiringsRepository } from './firings.repository.js';

/** What time it is for orders: the database's clock, one for all workers. Tests have another. Leases never ask it. */
@Injectable()
export class OrderTimes {
  constructor(private readonly repository: FiringsRepository) {}

  /** Who is in a transaction asks in it: once all connections are held by those who want one more, none of them gets on. */
  now(tx?: Tx): Promise<Date> {
    return this.repository.now(tx);
  }
}
