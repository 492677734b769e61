import { Injectable, type OnModuleInit } from '@nestjs/common';
import { MessageQueue } from '../../../sessions/messages/message-queue.service.js';
import { DeliveriesRepository } from './deliveries.repository.js';
import { deliveryFailed } from './delivery-failed.js';

/** Follows messages to the sessions that have them, and to their end, wherever that comes. */
@Injectable()
export class MemberDeliveries implements OnModuleInit {
  constructor(
    private readonly repository: DeliveriesRepository,
    private readonly queue: MessageQueue,
  ) {}

  onModuleInit(): void {
    this.queue.onHandedOver((changes, before, after, ids) => this.repository.follow(changes.tx, ids, before, after));
    this.queue.onSettled(async (changes, _row, message, outcome) => {
      if (message.source !== 'external') return;
      if (outcome === 'delivered') return void (await this.repository.end(changes.tx, { messageId: message.id }, 'delivered'));
      const failure = { code: outcome.code, error: outcome.message };
      const delivery = await this.repository.end(changes.tx, { messageId: message.id }, 'failed', failure);
      if (delivery !== undefined) changes.emit(deliveryFailed(changes.city.stream, changes.actor, delivery, failure.code, failure.error));
    });
  }
}
