import { Injectable } from '@nestjs/common';
import { EventsRotated } from '../../../contract/events/log.events.js';
import { maySee, type Principal } from '../../../contract/principal.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { event } from '../../../platform/event-log/event.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { EventSegments } from '../../../platform/event-log/segments.js';
import { CityEventsRepository } from './city-events.repository.js';
import type { EventRotateResponse } from './events.schemas.js';
import { cityNotRunning } from './problems.js';

@Injectable()
export class RotationService {
  constructor(
    private readonly transactions: Transactions,
    private readonly segments: EventSegments,
    private readonly eventLog: EventLog,
    private readonly repository: CityEventsRepository,
  ) {}

  /** Seals the city's active log and records the anchor that begins the next one. @throws ProblemError city_not_found */
  async rotate(city: string, caller: Principal): Promise<EventRotateResponse> {
    const stream = maySee(caller, city) ? await this.repository.runningStream(city) : undefined;
    if (stream === undefined) throw cityNotRunning(city);
    return this.transactions.run(
      async (tx) => {
        const sealed = await this.segments.seal(tx, stream.id);
        // It may have stopped while its lock was waited for.
        if (!(await this.repository.isRunning(tx, stream.id))) throw cityNotRunning(city);
        if (sealed === undefined) return { rotated: false, reason: 'active log is empty' };
        const archive = `${city}/events-${sealed.first}-${sealed.last}`;
        const payload = { prior_archive: archive, prior_first_seq: sealed.first, prior_last_seq: sealed.last };
        const [anchor] = await this.eventLog.append(tx, [
          event(EventsRotated, { stream: city, actor: caller.actor, message: `rotated to ${archive}`, payload }),
        ]);
        return {
          rotated: true,
          archive: { path: archive, first_seq: sealed.first, last_seq: sealed.last, compression_status: 'complete' },
          anchor_event: { seq: anchor!.seq, type: EventsRotated.type, ts: anchor!.ts.toISOString() },
        };
      },
      { key: city },
    );
  }
}
