import { Injectable } from '@nestjs/common';
import { WebhookRejected } from '../../../../contract/events/webhooks.events.js';
import type { ProblemError } from '../../../../contract/problems.js';
import { PREPARES, Transactions } from '../../../../platform/database/transactions.js';
import { EventLog } from '../../../../platform/event-log/event-log.js';
import { event } from '../../../../platform/event-log/event.js';
import { Buckets } from '../../../../platform/http/buckets.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import type { Facts } from './rules.js';
import type { EffectiveHook } from './webhook-definition.js';

export type Reason =
  | 'perimeter_denied'
  | 'operator_fault'
  | 'verify_failed'
  | 'rate_limited'
  | 'bad_payload'
  | 'match_error'
  | 'dispatch_refused'
  | 'dispatch_unavailable';

export interface Rejection {
  readonly city: CityScope;
  readonly hook: EffectiveHook;
  readonly facts: Facts;
  readonly size: number;
  readonly reason: Reason;
  readonly why: ProblemError;
}

/** Events of one hook that tell of what was refused: so many at once, and a minute, in this process. */
const TOLD = { perSecond: 0.1, burst: 6 } as const;
/** Hooks whose untold refusals are counted. */
const COUNTED = 10_000;

/** Tells what webhooks have refused. Whoever sends without end fills no log: what is beyond a few events is counted in the next one. */
@Injectable()
export class Rejections {
  readonly #told = new Buckets();
  readonly #untold = new Map<string, number>();

  constructor(
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly log: AppLogger,
  ) {}

  /** @throws the problem that it was refused with, always */
  async reject(rejection: Rejection): Promise<never> {
    const { city, hook, why } = rejection;
    const name = `${city.streamId} ${hook.scopedName}`;
    const untold = this.#untold.get(name) ?? 0;
    if (this.#told.take(name, TOLD) > 0) {
      if (this.#untold.size < COUNTED || untold > 0) this.#untold.set(name, untold + 1);
      throw why;
    }
    this.#untold.delete(name);
    try {
      await this.#tell(rejection, untold);
    } catch (error) {
      this.log.warn({ err: error, city: city.name, hook: hook.scopedName }, 'what a webhook refused could not be told');
    }
    throw why;
  }

  /** The record of the request is that of what it was refused with: this writes none. */
  async #tell({ city, hook, facts, size, reason, why }: Rejection, untold: number): Promise<void> {
    const more = untold === 0 ? '' : ` (and ${untold} more since the last one that was told)`;
    await this.transactions.run(
      (tx) =>
        this.eventLog.append(tx, [
          event(WebhookRejected, {
            stream: city.stream,
            actor: `webhook:${hook.scopedName}`,
            subject: hook.scopedName,
            message: `${why.message}${more}`,
            payload: {
              ...{ webhook: hook.scopedName, reason, status: why.kind.status, body_size: size, scheme: hook.verification.scheme },
              ...{ dedup_id: facts.delivery, ...(facts.event === undefined ? {} : { event_type: facts.event }) },
            },
          }),
        ]),
      { ...PREPARES, key: city.name },
    );
  }
}
