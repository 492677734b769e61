import { Body, Controller, Get, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../../contract/principal.js';
import { Caller } from '../../../../platform/http/caller.decorator.js';
import { fresh } from '../../../../platform/http/indexed.js';
import { Operation } from '../../../../platform/http/operation.decorator.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { City } from '../../../tenancy/cities/city.decorator.js';
import { CONVERSATION } from '../conversations/examples.js';
import {
  BindingsQuery,
  ExtMsgBindInputBody,
  ExtMsgUnbindBody,
  ExtMsgUnbindInputBody,
  ListBodySessionBindingRecord,
  SessionBindingRecord,
  type ExtMsgBindInput,
  type ExtMsgUnbindInput,
} from './bindings.schemas.js';
import { BindingsService } from './bindings.service.js';

const tag = 'extmsg';

@Controller('v0/city/:cityName/extmsg')
export class BindingsController {
  constructor(private readonly bindings: BindingsService) {}

  @Operation({
    id: 'get-v0-city-by-city-name-extmsg-bindings',
    name: 'list-extmsg-bindings',
    summary: 'List the conversations of a session',
    description: 'Those that count, the oldest first.',
    tag,
    response: ListBodySessionBindingRecord,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['city_not_found', 'invalid_request', 'invalid_cursor'],
  })
  @Get('bindings')
  async list(
    @City() city: CityScope,
    @Query({ schema: BindingsQuery }) query: BindingsQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBodySessionBindingRecord> {
    return fresh(reply, await this.bindings.list(city, query));
  }

  @Operation({
    id: 'post-v0-city-by-city-name-extmsg-bind',
    name: 'bind-extmsg-conversation',
    needs: 'operate',
    example: { conversation: CONVERSATION, agent_name: 'mayor' },
    summary: 'Bind a conversation to a session or to a configured name',
    description:
      'One at a time has a conversation: another is refused with 409 unless `replace` hands it over, which also fences what the one before has not ' +
      'published yet. The same again keeps the binding, adds to its metadata, and is told as an event again. At most 10,000 are ' +
      'bound to one session; what is bound to a configured name, or heard as a member of a group, is not counted.',
    tag,
    response: SessionBindingRecord,
    problems: ['city_not_found', 'session_not_found', 'invalid_request', 'validation_failed', 'conflict', 'ambiguous'],
  })
  @Post('bind')
  bind(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Body({ schema: ExtMsgBindInputBody }) body: ExtMsgBindInput,
  ): Promise<SessionBindingRecord> {
    return this.bindings.bind(city, body, caller);
  }

  @Operation({
    id: 'post-v0-city-by-city-name-extmsg-unbind',
    name: 'unbind-extmsg-conversation',
    needs: 'operate',
    example: { conversation: CONVERSATION },
    summary: 'End bindings',
    description: 'Those that fit all that is said: all of them in one transaction, or none. The first thousand are answered.',
    tag,
    response: ExtMsgUnbindBody,
    problems: ['city_not_found', 'invalid_request'],
  })
  @Post('unbind')
  unbind(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Body({ schema: ExtMsgUnbindInputBody }) body: ExtMsgUnbindInput,
  ): Promise<ExtMsgUnbindBody> {
    return this.bindings.unbind(city, body, caller);
  }
}
