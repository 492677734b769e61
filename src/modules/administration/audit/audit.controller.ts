import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { HeartbeatEvent } from '../../../contract/events/envelopes.js';
import type { Principal } from '../../../contract/principal.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { hijack } from '../../../platform/http/request.js';
import { AuditQuery, AuditRecordResponse, AuditStreamQuery, ListBodyAuditRecord } from './audit.schemas.js';
import { AuditService } from './audit.service.js';
import { AuditStreams } from './audit-streams.service.js';

@Controller('v0/audit')
export class AuditController {
  constructor(
    private readonly audit: AuditService,
    private readonly streams: AuditStreams,
  ) {}

  @Operation({
    id: 'list-audit',
    needs: 'audit',
    summary: 'List who did what with which key',
    description:
      'An addition. Every request of an operation that may change something leaves one record, newest first; reads leave none. A key that is ' +
      'limited to cities sees what was done in those. A page may be short, or empty, and have a cursor all the same.',
    response: ListBodyAuditRecord,
    problems: ['forbidden', 'invalid_cursor', 'invalid_request'],
  })
  @Get()
  list(@Caller() caller: Principal, @Query({ schema: AuditQuery }) query: AuditQuery): Promise<ListBodyAuditRecord> {
    return this.audit.list(caller, query);
  }

  @Operation({
    id: 'stream-audit',
    needs: 'audit',
    summary: 'Stream who does what with which key, from a position or from now on',
    description: 'An addition. In the order of writing, each record once: who resumes with `Last-Event-ID` misses none.',
    stream: [
      { event: 'audit', data: AuditRecordResponse },
      { event: 'heartbeat', data: HeartbeatEvent },
    ],
    problems: ['forbidden', 'invalid_cursor', 'cursor_ahead'],
  })
  @Get('stream')
  async stream(
    @Caller() caller: Principal,
    @Query({ schema: AuditStreamQuery }) query: AuditStreamQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { 'last-event-id': id } = request.headers;
    const opening = await this.streams.open(caller, query, typeof id === 'string' ? id : id?.[0]);
    await opening.begin(reply.raw, hijack(reply));
  }
}
