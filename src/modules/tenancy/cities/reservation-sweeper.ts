import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { ReservationsRepository, type Reservation } from './reservations.repository.js';
import { ScaffoldPlan } from './scaffold/plan.js';
import { undoScaffold } from './scaffold/scaffold.js';

const TICK_MS = 5_000;
const TAKEN_S = 30;
const BATCH = 10;

/** Takes back the scaffolds of creators that died before their commit. */
@Injectable()
export class ReservationSweeper implements OnApplicationBootstrap {
  constructor(
    private readonly config: AppConfig,
    private readonly reservations: ReservationsRepository,
    private readonly transactions: Transactions,
    private readonly log: AppLogger,
    private readonly due: DuePoller,
  ) {}

  onApplicationBootstrap(): void {
    this.due.repeat({ name: 'abandoned creates', everyMs: TICK_MS, due: this.reservations.isDue, work: () => this.sweep() });
  }

  /** Takes over what has expired, undoes it on disk, then forgets it. What cannot be undone now is tried again later. */
  async sweep(): Promise<number> {
    const owner = `${this.config.processId}/sweeper`;
    const expired = await this.transactions.run((tx) => this.reservations.takeExpired(tx, owner, TAKEN_S, BATCH));
    for (const reservation of expired) await this.#undo(reservation, owner);
    return expired.length;
  }

  async #undo(reservation: Reservation, owner: string): Promise<void> {
    const { requestId, name, dir } = reservation;
    try {
      // Not when it took too long to come to it: whoever has it now undoes it, and a city may be there by then that is made of the same files.
      if (!(await this.transactions.run((tx) => this.reservations.extend(tx, requestId, owner, TAKEN_S)))) return;
      const isCity = await this.transactions.run((tx) => this.reservations.isCity(tx, dir));
      if (!isCity) await undoScaffold(ScaffoldPlan.parse(reservation.scaffold));
      await this.transactions.run((tx) => this.reservations.delete(tx, requestId, owner));
      const done = isCity ? 'the files of an abandoned create stay: a city has them' : 'an abandoned create was taken back';
      this.log.info({ request_id: requestId, city: name, dir }, done);
    } catch (error) {
      this.log.warn({ err: error, request_id: requestId, city: name, dir }, 'an abandoned create could not be taken back');
    }
  }
}
