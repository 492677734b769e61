import { Controller, Delete, Get, Header, Param, Post, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Message } from '../../../contract/mail.schemas.js';
import type { Principal } from '../../../contract/principal.js';
import { OKResponseBody } from '../../../contract/scalars.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import type { ResponseHeader } from '../../../platform/http/operation.js';
import { fresh } from '../../../platform/http/indexed.js';
import { clientGone } from '../../../platform/streams/head-waiter.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { MailReadingService } from './mail-reading.service.js';
import {
  MailCountOutputBody,
  MailCountQuery,
  MailIdParam,
  MailListBody,
  MailListQuery,
  MailRigQuery,
  MailThreadParam,
  MailThreadQuery,
} from './mail.schemas.js';
import { MailService } from './mail.service.js';

const ID = { schema: MailIdParam };
const RIG = { schema: MailRigQuery };
const HEADERS: readonly ResponseHeader[] = ['X-SVC-Index', 'X-SVC-Cache-Age-S'];
const JSON_TYPE = 'application/json; charset=utf-8';

/** Reading mail, and what becomes of a message. */
@Controller('v0/city/:cityName/mail')
export class MailController {
  constructor(
    private readonly reading: MailReadingService,
    private readonly mail: MailService,
  ) {}

  @Operation({
    id: 'get-v0-city-by-city-name-mail',
    name: 'list-mail',
    summary: 'List mail',
    description:
      'Newest first. `status` is `unread` (the default), `all` (read and unread) or `archived`. `agent` is a mailbox: `human`, or an agent or ' +
      'named session as mail can be addressed to it. `thread` is the id of a thread or of a message in it, `text` a part of the subject or the ' +
      'body. `rig` does not divide the mail of a city: it tags messages that were sent without one. `total` is exact up to 5,000 messages, and a lower ' +
      'bound with `total_is_estimate` beyond; `next_cursor` is there ' +
      'exactly when the list goes on, also when a page ends early because its messages are long. With `index` the answer waits until the ' +
      'head is above it, at most `wait`.',
    tag: 'mail',
    response: MailListBody,
    headers: HEADERS,
    problems: ['invalid_request', 'invalid_cursor', 'city_not_found'],
  })
  @Get()
  @Header('content-type', JSON_TYPE)
  async list(
    @City() city: CityScope,
    @Query({ schema: MailListQuery }) query: MailListQuery,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    return fresh(reply, await this.reading.list(city, query, clientGone(reply.raw, caller)));
  }

  @Operation({
    id: 'get-v0-city-by-city-name-mail-count',
    plannedOnce: true,
    name: 'count-mail',
    summary: 'Count the mail that is not archived',
    description: 'Of an agent, of `human`, or of the whole city.',
    tag: 'mail',
    response: MailCountOutputBody,
    headers: HEADERS,
    problems: ['invalid_request', 'city_not_found'],
  })
  @Get('count')
  async count(
    @City() city: CityScope,
    @Query({ schema: MailCountQuery }) query: MailCountQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<MailCountOutputBody> {
    return fresh(reply, await this.reading.count(city, query));
  }

  @Operation({
    id: 'get-v0-city-by-city-name-mail-thread-by-id',
    name: 'get-mail-thread',
    summary: 'List the messages of a thread that are not archived',
    description: 'Oldest first. `id` is the id of the thread or of a message in it; one that is not known has no messages.',
    tag: 'mail',
    response: MailListBody,
    headers: HEADERS,
    problems: ['invalid_cursor', 'city_not_found'],
  })
  @Get('thread/:id')
  @Header('content-type', JSON_TYPE)
  async thread(
    @City() city: CityScope,
    @Param('id', { schema: MailThreadParam }) id: string,
    @Query({ schema: MailThreadQuery }) query: MailThreadQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    return fresh(reply, await this.reading.thread(city, id, query));
  }

  @Operation({
    id: 'get-v0-city-by-city-name-mail-by-id',
    plannedOnce: true,
    name: 'get-mail',
    summary: 'Read a message',
    description: 'Does not mark it as read. What was archived by its age can be read here until it is removed for good.',
    tag: 'mail',
    response: Message,
    headers: HEADERS,
    problems: ['mail_not_found'],
  })
  @Get(':id')
  @Header('content-type', JSON_TYPE)
  async get(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Query(RIG) query: MailRigQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    return fresh(reply, await this.reading.get(city, id, query.rig));
  }

  @Operation({
    id: 'post-v0-city-by-city-name-mail-by-id-read',
    name: 'mark-mail-read',
    needs: 'operate',
    summary: 'Mark a message as read',
    description: 'One that is read is left as it is.',
    tag: 'mail',
    response: OKResponseBody,
    problems: ['mail_not_found'],
  })
  @Post(':id/read')
  read(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Query(RIG) query: MailRigQuery,
    @Caller() caller: Principal,
  ): Promise<{ status: string }> {
    return this.mail.mark(city, id, true, query.rig, caller);
  }

  @Operation({
    id: 'post-v0-city-by-city-name-mail-by-id-mark-unread',
    name: 'mark-mail-unread',
    needs: 'operate',
    summary: 'Mark a message as unread',
    description: 'One that is not read is left as it is.',
    tag: 'mail',
    response: OKResponseBody,
    problems: ['mail_not_found'],
  })
  @Post(':id/mark-unread')
  markUnread(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Query(RIG) query: MailRigQuery,
    @Caller() caller: Principal,
  ): Promise<{ status: string }> {
    return this.mail.mark(city, id, false, query.rig, caller);
  }

  @Operation({
    id: 'post-v0-city-by-city-name-mail-by-id-archive',
    name: 'archive-mail',
    needs: 'operate',
    summary: 'Archive a message',
    description: 'Final. Succeeds without an effect for a message that is not there or no longer in its mailbox.',
    tag: 'mail',
    response: OKResponseBody,
    problems: ['rig_not_found'],
  })
  @Post(':id/archive')
  archive(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Query(RIG) query: MailRigQuery,
    @Caller() caller: Principal,
  ): Promise<{ status: string }> {
    return this.mail.archive(city, id, 'archived', query.rig, caller);
  }

  @Operation({
    id: 'delete-v0-city-by-city-name-mail-by-id',
    name: 'delete-mail',
    needs: 'operate',
    summary: 'Delete a message',
    description: 'As archiving, but the message is in no list any more. One that is already archived stays so.',
    tag: 'mail',
    response: OKResponseBody,
    problems: ['rig_not_found'],
  })
  @Delete(':id')
  delete(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Query(RIG) query: MailRigQuery,
    @Caller() caller: Principal,
  ): Promise<{ status: string }> {
    return this.mail.archive(city, id, 'deleted', query.rig, caller);
  }
}
