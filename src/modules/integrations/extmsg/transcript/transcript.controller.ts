import { Body, Controller, Get, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../../contract/principal.js';
import { OKResponseBody } from '../../../../contract/scalars.js';
import { Caller } from '../../../../platform/http/caller.decorator.js';
import { fresh } from '../../../../platform/http/indexed.js';
import { Operation } from '../../../../platform/http/operation.decorator.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { City } from '../../../tenancy/cities/city.decorator.js';
import { CONVERSATION } from '../conversations/examples.js';
import {
  ExtMsgTranscriptAckInputBody,
  ListBodyConversationTranscriptRecord,
  TranscriptQuery,
  type ExtMsgTranscriptAckInput,
} from './transcript.schemas.js';
import { TranscriptService } from './transcript.service.js';

const tag = 'extmsg';

@Controller('v0/city/:cityName/extmsg/transcript')
export class ExtmsgTranscriptController {
  constructor(private readonly transcript: TranscriptService) {}

  @Operation({
    id: 'get-v0-city-by-city-name-extmsg-transcript',
    name: 'get-extmsg-transcript',
    summary: 'Read what was said in a conversation',
    description: 'In the order in which it was recorded. With `session_id` what this member has not read.',
    tag,
    response: ListBodyConversationTranscriptRecord,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: ['city_not_found', 'invalid_request', 'validation_failed', 'invalid_cursor', 'forbidden'],
  })
  @Get()
  async list(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Query({ schema: TranscriptQuery }) query: TranscriptQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBodyConversationTranscriptRecord> {
    return fresh(reply, await this.transcript.list(city, query, caller));
  }

  @Operation({
    id: 'post-v0-city-by-city-name-extmsg-transcript-ack',
    name: 'acknowledge-extmsg-transcript',
    needs: 'operate',
    example: { conversation: CONVERSATION, session_id: 'mayor', sequence: 1 },
    summary: 'Say how far a member has read',
    description: 'Never backwards: what was said before stays.',
    tag,
    response: OKResponseBody,
    problems: ['city_not_found', 'validation_failed'],
  })
  @Post('ack')
  acknowledge(
    @City() city: CityScope,
    @Caller() caller: Principal,
    @Body({ schema: ExtMsgTranscriptAckInputBody }) body: ExtMsgTranscriptAckInput,
  ): Promise<OKResponseBody> {
    return this.transcript.acknowledge(city, body, caller);
  }
}
