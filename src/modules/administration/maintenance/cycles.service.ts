import { Injectable } from '@nestjs/common';
import { ProblemError } from '../../../contract/problems.js';
import { StoreMaintenanceDone, StoreMaintenanceFailed } from '../../../contract/events/storage.events.js';
import { Transactions, type Tx } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { event, type NewEvent } from '../../../platform/event-log/event.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Signals } from '../../../platform/streams/signals.js';
import { MailSendingService } from '../../work/mail/mail-sending.service.js';
import { WorkService } from '../../work/work/work.service.js';
import { MAINTENANCE_TOPIC, secondsOf, SUPERVISOR, type CycleEnd, type CycleRow, type KeptCity } from './cycle-row.js';
import { CyclesRepository } from './cycles.repository.js';
import { nextAfterEnd } from './settings.js';

/** Cycles from their beginning to their end: each end with its event, and its mail, in one transaction. */
@Injectable()
export class Cycles {
  constructor(
    private readonly repository: CyclesRepository,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly work: WorkService,
    private readonly sending: MailSendingService,
    private readonly signals: Signals,
    private readonly log: AppLogger,
  ) {}

  /** Begins the cycles that are due. Answers how many. */
  async schedule(waiting: number): Promise<number> {
    return this.transactions.run(async (tx) => {
      const began = await this.repository.schedule(tx, waiting);
      if (began > 0) this.signals.mark(tx, MAINTENANCE_TOPIC);
      return began;
    });
  }

  /**
   * Ends a cycle. False when it is another's by now, or has ended.
   *
   * @param worker whose it has to be; undefined for one whose lease has run out
   */
  async end(cycle: CycleRow, worker: string | undefined, end: CycleEnd): Promise<boolean> {
    const city = await this.repository.city(cycle.stream_id);
    const { alertTo } = cycle.settings;
    if (end.error !== undefined && alertTo !== undefined && city?.running === true)
      try {
        return await this.#endWithMail(cycle, worker, end, city, alertTo);
      } catch (error) {
        // The city has stopped meanwhile: nobody reads mail there.
        if (!(error instanceof ProblemError) || error.problem !== 'city_not_found') throw error;
      }
    return this.transactions.run(
      async (tx) => {
        const ended = await this.#settle(tx, cycle, worker, end);
        // A city that is not registered any more has nobody to tell.
        if (ended !== undefined && city !== undefined) await this.eventLog.append(tx, [endedEvent(city, ended)]);
        return ended !== undefined;
      },
      city === undefined ? {} : { key: city.name },
    );
  }

  async #endWithMail(cycle: CycleRow, worker: string | undefined, end: CycleEnd, city: KeptCity, to: string): Promise<boolean> {
    const scope = { id: city.id, name: city.name, path: city.path, stream: city.name, streamId: cycle.stream_id };
    const { value } = await this.work.run(scope, SUPERVISOR, async (work) => {
      const ended = await this.#settle(work.tx, cycle, worker, end);
      if (ended === undefined) return false;
      work.emit(endedEvent(city, ended));
      const subject = `[ALERT] Store maintenance failed: ${end.stage}`;
      const body = `Maintenance of ${city.name} has failed: ${end.error!}.`;
      if (!(await this.sending.notify(work, to, { rig: '', subject, body }, SUPERVISOR)))
        this.log.warn({ city: city.name }, 'maintenance has failed, but whom `alert_to` names is not known');
      return true;
    });
    return value;
  }

  /** The city's row first, see the repository. */
  async #settle(tx: Tx, cycle: CycleRow, worker: string | undefined, end: CycleEnd): Promise<CycleRow | undefined> {
    const { settings } = await this.repository.lock(tx, cycle.stream_id);
    const ended = await this.repository.end(tx, cycle.pk, worker, end);
    if (ended === undefined) return undefined;
    const nextAt = settings === null ? null : nextAfterEnd(settings, end.error !== undefined || end.more === true, ended.finished_at!);
    await this.repository.settle(tx, cycle.stream_id, nextAt);
    return ended;
  }
}

function endedEvent(city: KeptCity, cycle: CycleRow): NewEvent {
  const facts = { stream: city.name, actor: SUPERVISOR, subject: city.path };
  const duration_s = secondsOf(cycle);
  if (cycle.error !== null)
    return event(StoreMaintenanceFailed, { ...facts, payload: { stage: cycle.stage, error_msg: cycle.error, duration_s } });
  const { before_bytes, after_bytes } = cycle;
  return event(StoreMaintenanceDone, { ...facts, payload: { duration_s, before_bytes, after_bytes, snapshot_path: '' } });
}
