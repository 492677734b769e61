import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import type { ClaimedOperation, OperationContext, OperationOutcome } from '../../../platform/operations/operation.js';
import { Operations } from '../../../platform/operations/operations.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { WorkService } from '../work/work.service.js';
import { MailBroadcast, type MailBroadcastInput } from './mail-broadcasts.operations.js';
import { MailBroadcastsRepository } from './mail-broadcasts.repository.js';
import { MailSendingService } from './mail-sending.service.js';

/** What one step sends has so much text at the most. */
const STEP_BYTES = 1024 * 1024;

interface Step {
  readonly sent: number;
  readonly over: boolean;
}

/**
 * Sends broadcasts to many in steps. The messages of a step, their events and how far it has come are one transaction, so that each
 * gets one message however often this is begun anew, and the city's other writers get in between.
 */
@Injectable()
export class MailBroadcastsReconciler implements OnModuleInit {
  constructor(
    private readonly operations: Operations,
    private readonly repository: MailBroadcastsRepository,
    private readonly sending: MailSendingService,
    private readonly work: WorkService,
    private readonly failpoints: Failpoints,
  ) {}

  onModuleInit(): void {
    this.operations.registerHandler({
      definition: MailBroadcast,
      run: (operation, context) => this.#run(operation, context),
      failed: async (tx, { input: { streamId, requestId } }) => {
        await this.repository.remove(tx, streamId, requestId);
        return [];
      },
    });
  }

  async #run({ input }: ClaimedOperation<MailBroadcastInput>, context: OperationContext): Promise<OperationOutcome> {
    const { streamId, requestId } = input;
    const within: OperationOutcome['within'] = async (tx) => {
      await this.repository.remove(tx, streamId, requestId);
      return [];
    };
    // Not none: whoever had it before may have sent to some.
    for (let sent = await this.repository.sentSoFar(streamId, requestId); ;) {
      context.signal.throwIfAborted();
      const city = await this.repository.runningCity(streamId);
      if (city === undefined)
        return { ok: false, code: 'city_not_running', message: `the city does not run any more; sent so far: ${sent}`, within };
      const step = await this.#step(city, requestId);
      sent = step.sent;
      if (step.over) return { ok: true, payload: { sent }, within };
      await this.failpoints.hit('fan_out.after_step');
      await context.advanced(`sent ${sent}`);
    }
  }

  async #step(city: CityScope, requestId: string): Promise<Step> {
    const { value } = await this.work.run(city, 'reconciler', async (work): Promise<Step> => {
      const portion = await this.repository.next(work.tx, city.streamId, requestId, this.sending.atOnce, STEP_BYTES);
      if (portion === undefined) throw new Error('the request of a broadcast is gone');
      if (portion.recipients.length === 0) return { sent: portion.sent, over: true };
      await this.sending.circulate(work, portion.message, portion.recipients);
      const sent = portion.sent + portion.recipients.length;
      await this.repository.sent(work.tx, city.streamId, requestId, sent);
      return { sent, over: false };
    });
    return value;
  }
}
