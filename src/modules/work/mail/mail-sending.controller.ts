import { Body, Controller, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Message } from '../../../contract/mail.schemas.js';
import type { Principal } from '../../../contract/principal.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { fresh } from '../../../platform/http/indexed.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { ResponseHeader } from '../../../platform/http/operation.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { MailSendingService } from './mail-sending.service.js';
import {
  MailBroadcastInputBody,
  MailBroadcastOutputBody,
  MailIdParam,
  MailReplyInputBody,
  MailRigQuery,
  MailSendInputBody,
} from './mail.schemas.js';

const HEADERS: readonly ResponseHeader[] = ['X-SVC-Index', 'X-SVC-Cache-Age-S'];

@Controller('v0/city/:cityName/mail')
export class MailSendingController {
  constructor(private readonly mail: MailSendingService) {}

  @Operation({
    id: 'send-mail',
    needs: 'operate',
    summary: 'Send a message',
    description:
      '`to` and `cc` are `human`, or agents and named sessions: in full, bare within `rig`, or bare when only one has that name. Each of `cc` gets ' +
      'a copy of its own in the same thread; the answer is the message to `to`. Without `from` the sender is the caller. `from` may be anything, ' +
      'but only to a sender that mail can be addressed to can be replied. `priority` is 0 (highest) to 4.',
    tag: 'mail',
    status: 201,
    response: Message,
    headers: HEADERS,
    problems: ['invalid_request', 'rig_not_found', 'idempotency_mismatch', 'idempotency_in_flight'],
  })
  @Post()
  async send(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: MailSendInputBody }) body: MailSendInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Message> {
    return fresh(reply, await this.mail.send(city, body, key, caller));
  }

  @Operation({
    id: 'broadcast-mail',
    needs: 'operate',
    summary: 'Send a message to many',
    description:
      'One message each, in a thread each: to those of `to`, or without it to every agent and named session of the city except the sender. ' +
      'All are sent, or none. To more than 200, or of more than 8 MiB in all, it is only accepted: 202 with a `request_id`, then the messages in steps of which each is durable, ' +
      'and one `request.result.mail.broadcast` or `request.failed` above `event_cursor` in the log of the city. Who gets it is decided when it is ' +
      'accepted: who leaves meanwhile has it all the same, who comes has not.',
    tag: 'mail',
    status: 201,
    also: [{ status: 202, headers: HEADERS }],
    response: MailBroadcastOutputBody,
    headers: HEADERS,
    problems: ['invalid_request', 'rig_not_found', 'idempotency_mismatch', 'idempotency_in_flight'],
  })
  @Post('broadcast')
  async broadcast(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: MailBroadcastInputBody }) body: MailBroadcastInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MailBroadcastOutputBody> {
    const done = await this.mail.broadcast(city, body, key, caller);
    // What goes on in the background is accepted.
    if (done.value.request_id !== undefined) void reply.code(202);
    return fresh(reply, done);
  }

  @Operation({
    id: 'reply-mail',
    needs: 'operate',
    example: { body: 'Done.' },
    summary: 'Reply to a message',
    description:
      'Goes to the sender of the message, in its thread. An answer to what a key, or anybody without one, has sent without `from` goes to `human`: to people, ' +
      'also where a program has the key. Without `subject` it is that of the message after `Re: `. 409 when the sender has no mailbox.',
    tag: 'mail',
    status: 201,
    response: Message,
    headers: HEADERS,
    problems: ['mail_not_found', 'wrong_state', 'idempotency_mismatch', 'idempotency_in_flight'],
  })
  @Post(':id/reply')
  async reply(
    @City() city: CityScope,
    @Param('id', { schema: MailIdParam }) id: string,
    @Query({ schema: MailRigQuery }) query: MailRigQuery,
    @Caller() caller: Principal,
    @IdempotencyKey() key: string | undefined,
    @Body({ schema: MailReplyInputBody }) body: MailReplyInputBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Message> {
    return fresh(reply, await this.mail.reply(city, id, query.rig, body, key, caller));
  }
}
