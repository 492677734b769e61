import { Injectable, type OnModuleInit } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import { Operations } from '../../../platform/operations/operations.js';
import type { Work } from '../work/work.js';
import { broadcastTarget, MailBroadcast } from './mail-broadcasts.operations.js';
import { MailBroadcastsRepository } from './mail-broadcasts.repository.js';
import { MailSendingService, type Circular } from './mail-sending.service.js';
import type { MailBroadcastOutputBody } from './mail.schemas.js';
import type { Recipient } from './message-record.js';

const BYTES = 64 * 1024 * 1024;

/** Accepts broadcasts to many. Who gets it is decided here, under the city's lock. */
@Injectable()
export class MailBroadcasts implements OnModuleInit {
  constructor(
    private readonly sending: MailSendingService,
    private readonly repository: MailBroadcastsRepository,
    private readonly operations: Operations,
  ) {}

  onModuleInit(): void {
    this.sending.onMany((work, message, recipients) => this.#accept(work, message, recipients));
  }

  async #accept(work: Work, message: Circular, recipients: readonly Recipient[]): Promise<MailBroadcastOutputBody> {
    if (recipients.length * Buffer.byteLength(message.body) > BYTES)
      throw problem('invalid_request', `${recipients.length} copies of this body are longer than ${BYTES / 1024 / 1024} MiB together`, {
        at: 'body.body',
      });
    const { tx, city } = work;
    const { stream, streamId } = city;
    const requestId = this.operations.newRequestId();
    const eventCursor = String(await work.head());
    await this.repository.insert(tx, streamId, requestId, message, recipients);
    const target = broadcastTarget(requestId);
    await this.operations.accept(tx, MailBroadcast, {
      target,
      input: { streamId, requestId },
      stream,
      eventCursor,
      subject: requestId,
      requestId,
    });
    return { items: [], total: recipients.length, request_id: requestId, event_cursor: eventCursor };
  }
}
