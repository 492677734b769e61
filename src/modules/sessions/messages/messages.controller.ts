import { Body, Controller, Delete, Get, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Principal } from '../../../contract/principal.js';
import { AsyncAcceptedBody, OKResponseBody } from '../../../contract/scalars.js';
import { Caller, IdempotencyKey } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { fresh } from '../../../platform/http/indexed.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { MessageListService } from './message-list.service.js';
import {
  ListBodySessionMessage,
  MessageIdParam,
  MessagesQuery,
  SessionMessageInputBody,
  SessionMessageRecord,
  SessionParam,
  SessionSubmitInputBody,
  type SessionMessageInput,
  type SessionSubmitInput,
} from './messages.schemas.js';
import { MessagesService } from './messages.service.js';

const ID = { schema: SessionParam };
const MESSAGE = { schema: MessageIdParam };
const tag = 'sessions';
const missing = ['city_not_found', 'session_not_found', 'ambiguous'] as const;
const refusals = [...missing, 'pending_interaction', 'wrong_state', 'conflict', 'idempotency_in_flight'] as const;
const AWAKE =
  'A session that sleeps or is suspended is woken; one that cannot run now (its agent, rig or city is suspended, it is quarantined or ' +
  'on hold) is refused with the reason. While the agent waits for an answer it takes nothing: answer first.';

/** What people and agents say to a session. */
@Controller('v0/city/:cityName/session/:id')
export class MessagesController {
  constructor(
    private readonly messages: MessagesService,
    private readonly lists: MessageListService,
  ) {}

  @Operation({
    id: 'send-session-message',
    plannedOnce: true,
    needs: 'operate',
    summary: 'Send a message',
    description:
      `Delivered once, in the order of arrival, when the session is idle. ${AWAKE} The request ends with \`request.result.session.message\` ` +
      'once the agent has taken it up, or fails; with `timeout` after four minutes, when the message still waits and can be cancelled, ' +
      'and with `delivery_unconfirmed` when the process was lost: then it is not sent again.',
    tag,
    status: 202,
    response: AsyncAcceptedBody,
    problems: refusals,
  })
  @Post('messages')
  send(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Body({ schema: SessionMessageInputBody }) body: SessionMessageInput,
    @IdempotencyKey() key: string | undefined,
    @Caller() caller: Principal,
  ): Promise<AsyncAcceptedBody> {
    return this.messages.send(city, id, body, key, caller);
  }

  @Operation({
    id: 'submit-session',
    plannedOnce: true,
    needs: 'operate',
    summary: 'Send a message with an intent',
    description:
      `\`default\` and \`follow_up\` wait for the end of a turn, \`interrupt_now\` ends it, which a session may do to itself only. ` +
      `${AWAKE} A follow-up during a turn, and a default one to a session that is still being made, succeed at once with \`queued\`; ` +
      'everything else when it is delivered, within 24 hours.',
    tag,
    status: 202,
    response: AsyncAcceptedBody,
    problems: [...refusals, 'unsupported'],
  })
  @Post('submit')
  submit(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Body({ schema: SessionSubmitInputBody }) body: SessionSubmitInput,
    @IdempotencyKey() key: string | undefined,
    @Caller() caller: Principal,
  ): Promise<AsyncAcceptedBody> {
    return this.messages.submit(city, id, body, key, caller);
  }

  @Operation({
    id: 'list-session-messages',
    plannedOnce: true,
    summary: 'List the messages of a session',
    description: 'Newest first: those that wait and what became of the others. An addition to the contract.',
    tag,
    response: ListBodySessionMessage,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: [...missing, 'invalid_cursor'],
  })
  @Get('messages')
  async list(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Query({ schema: MessagesQuery }) query: MessagesQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ListBodySessionMessage> {
    return fresh(reply, await this.lists.list(city, id, query));
  }

  @Operation({
    id: 'get-session-message',
    plannedOnce: true,
    summary: 'Read a message of a session',
    description: 'With its whole text. An addition to the contract.',
    tag,
    response: SessionMessageRecord,
    problems: [...missing, 'message_not_found'],
  })
  @Get('messages/:messageId')
  get(@City() city: CityScope, @Param('id', ID) id: string, @Param('messageId', MESSAGE) messageId: string): Promise<SessionMessageRecord> {
    return this.lists.get(city, id, messageId);
  }

  @Operation({
    id: 'cancel-session-message',
    plannedOnce: true,
    needs: 'operate',
    summary: 'Cancel a queued message',
    description:
      'Its request fails with `cancelled`. One that has been given to the session is refused; cancelling twice changes nothing. ' +
      'An addition to the contract.',
    tag,
    response: OKResponseBody,
    problems: [...missing, 'message_not_found', 'wrong_state'],
  })
  @Delete('messages/:messageId')
  cancel(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Param('messageId', MESSAGE) messageId: string,
    @Caller() caller: Principal,
  ): Promise<OKResponseBody> {
    return this.lists.cancel(city, id, messageId, caller);
  }
}
