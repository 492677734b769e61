import { Body, Controller, Param, Post } from '@nestjs/common';
import type { Principal } from '../../../../contract/principal.js';
import { Caller } from '../../../../platform/http/caller.decorator.js';
import { Operation } from '../../../../platform/http/operation.decorator.js';
import { CityNameParam } from '../../../tenancy/cities/city-name.param.js';
import { CONVERSATION } from '../conversations/examples.js';
import { ExtMsgInboundInputBody, InboundResult, type ExtMsgInboundInput } from './inbound.schemas.js';
import { InboundService } from './inbound.service.js';

@Controller('v0/city/:cityName/extmsg/inbound')
export class InboundController {
  constructor(private readonly inbound: InboundService) {}

  @Operation({
    id: 'post-v0-city-by-city-name-extmsg-inbound',
    name: 'receive-extmsg',
    needs: 'operate',
    example: {
      message: {
        provider_message_id: 'm-1',
        conversation: CONVERSATION,
        actor: { id: 'U1', display_name: 'Ann', is_bot: false },
        text: 'Hello',
        received_at: '2026-01-01T00:00:00Z',
      },
    },
    summary: 'Hand over a message from outside',
    description:
      'It goes to whoever has the conversation, else to a participant of its group, else along a default route of the configuration; all members are told ' +
      'once, however often it is sent. The answer is given once it is stored. 429 and 503 say when to try again; every other 4xx says that no repetition helps.',
    tag: 'extmsg',
    response: InboundResult,
    problems: ['city_not_found', 'invalid_request', 'validation_failed', 'unavailable'],
  })
  @Post()
  receive(
    @Param('cityName', { schema: CityNameParam }) city: string,
    @Caller() caller: Principal,
    @Body({ schema: ExtMsgInboundInputBody }) body: ExtMsgInboundInput,
  ): Promise<InboundResult> {
    return this.inbound.receive(city, body, caller);
  }
}
