import { Body, Controller, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../../contract/principal.js';
import { Caller } from '../../../../platform/http/caller.decorator.js';
import { Operation } from '../../../../platform/http/operation.decorator.js';
import { clientGone } from '../../../../platform/streams/head-waiter.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { City } from '../../../tenancy/cities/city.decorator.js';
import { CONVERSATION } from '../conversations/examples.js';
import { ExtMsgOutboundInputBody, OutboundResult, type ExtMsgOutboundInput } from './outbound.schemas.js';
import { OutboundService } from './outbound.service.js';

@Controller('v0/city/:cityName/extmsg/outbound')
export class OutboundController {
  constructor(private readonly outbound: OutboundService) {}

  @Operation({
    id: 'post-v0-city-by-city-name-extmsg-outbound',
    name: 'publish-extmsg',
    needs: 'operate',
    example: { session_id: 's-0123456789ab', conversation: CONVERSATION, text: 'On it.' },
    summary: 'Publish a message of a session',
    description:
      'The session has the conversation, or a handle in its group. What is taken is published even when the caller goes away; the answer waits 30 s for ' +
      'it and says `pending` when it is tried on. Without an `idempotency_key` the same message again is another one.',
    tag: 'extmsg',
    response: OutboundResult,
    problems: ['city_not_found', 'session_not_found', 'validation_failed', 'idempotency_mismatch', 'conflict', 'ambiguous'],
  })
  @Post()
  publish(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Body({ schema: ExtMsgOutboundInputBody }) body: ExtMsgOutboundInput,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<OutboundResult> {
    return this.outbound.publish(city, body, caller, clientGone(reply.raw, caller));
  }
}
