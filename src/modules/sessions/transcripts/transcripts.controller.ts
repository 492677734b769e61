import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { HeartbeatEvent } from '../../../contract/events/envelopes.js';
import { PendingInteraction } from '../../../contract/interactions.schemas.js';
import type { Principal } from '../../../contract/principal.js';
import {
  SessionActivityEvent,
  SessionAgentGetResponse,
  SessionAgentListResponse,
  SessionPendingClearedEvent,
  SessionStreamMessageEvent,
  SessionStreamRawMessageEvent,
  SessionStreamStructuredMessageEvent,
  SessionTranscriptGetResponse,
} from '../../../contract/transcripts.schemas.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import { fresh } from '../../../platform/http/indexed.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { City } from '../../tenancy/cities/city.decorator.js';
import { SessionRefParam } from '../sessions/sessions.query.js';
import { begin, lastEventId } from './stream-answers.js';
import { SessionStreams } from './session-streams.service.js';
import { SessionStreamQuery, SubAgentParam, TranscriptQuery } from './transcripts.query.js';
import { TranscriptsService } from './transcripts.service.js';

const ID = { schema: SessionRefParam };
const tag = 'sessions';
const missing = ['city_not_found', 'session_not_found', 'ambiguous'] as const;

/** What sessions have said. */
@Controller('v0/city/:cityName/session/:id')
export class TranscriptsController {
  constructor(
    private readonly transcripts: TranscriptsService,
    private readonly streams: SessionStreams,
  ) {}

  @Operation({
    id: 'get-v0-city-by-city-name-session-by-id-transcript',
    plannedOnce: true,
    name: 'get-session-transcript',
    summary: "Read a session's transcript",
    description:
      'The newest entries of the transcript, oldest first; with `after` those that follow an entry, with `before` those that precede one. ' +
      '`tail` keeps the last so many segments, which compactions divide. An answer has at most `limit` (2000) entries and some 2 MiB of stored ' +
      'text; `pagination` says what was left out: page back with `truncated_before_message` as `before`, on with `last_message` as `after`. ' +
      '`conversation` joins the parts of a long message; `raw` has the frames as the agent wrote them, or such as say the same, and in ' +
      '`entries` how many belong to each entry. Thoughts are left out unless `include_thinking`.',
    tag,
    response: SessionTranscriptGetResponse,
    headers: ['X-SVC-Index', 'X-SVC-Cache-Age-S'],
    problems: [...missing, 'transcript_cursor_invalidated'],
  })
  @Get('transcript')
  async get(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Query({ schema: TranscriptQuery }) query: TranscriptQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SessionTranscriptGetResponse> {
    return fresh(reply, await this.transcripts.get(city, id, query));
  }

  @Operation({
    id: 'stream-session',
    summary: 'Follow a session',
    description:
      'Without a position it begins with the last segment of the transcript, the activity and the open questions, then goes on live. The id of ' +
      'a frame is a position; of those that a stream begins with only the last has one. With it as `Last-Event-ID` or `after_cursor` any replica goes on from there. An entry that has changed is ' +
      'sent again, whole, under its own id; one that is `superseded` or has come to show nothing is to be forgotten. A structured stream ' +
      'answers a position that it cannot go on from with a `reset`. The stream of a session that has ended ends, and a client that comes back ' +
      'with its last position gets 204, at which an EventSource stops. Here every entry is a turn ' +
      'of its own.',
    tag,
    stream: [
      { event: 'activity', data: SessionActivityEvent },
      { event: 'heartbeat', data: HeartbeatEvent },
      { event: 'message', data: SessionStreamRawMessageEvent },
      { event: 'pending', data: PendingInteraction },
      { event: 'pending_cleared', data: SessionPendingClearedEvent },
      { event: 'structured', data: SessionStreamStructuredMessageEvent },
      { event: 'turn', data: SessionStreamMessageEvent },
    ],
    ends: true,
    headers: ['SVC-Session-State', 'SVC-Session-Status'],
    problems: [...missing, 'invalid_cursor', 'cursor_ahead', 'unavailable'],
  })
  @Get('stream')
  async stream(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Caller() caller: Principal,
    @Query({ schema: SessionStreamQuery }) query: SessionStreamQuery,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await begin(reply, await this.streams.open(city, id, caller, query, lastEventId(request)));
  }

  @Operation({
    id: 'get-v0-city-by-city-name-session-by-id-agents',
    plannedOnce: true,
    name: 'list-sub-agents',
    summary: 'List the sub-agents that a session has used',
    description: 'A sub-agent is known by the tool call that started it. In the order of their first words.',
    tag,
    response: SessionAgentListResponse,
    problems: [...missing],
  })
  @Get('agents')
  agents(@City() city: CityScope, @Param('id', ID) id: string): Promise<SessionAgentListResponse> {
    return this.transcripts.subAgents(city, id);
  }

  @Operation({
    id: 'get-v0-city-by-city-name-session-by-id-agents-by-agent-id',
    name: 'get-sub-agent',
    summary: 'Read what a sub-agent has said',
    description: 'The newest 2000 entries as raw frames, oldest first. `status` is running, completed or failed.',
    tag,
    response: SessionAgentGetResponse,
    problems: [...missing, 'invalid_request', 'agent_not_found'],
  })
  @Get('agents/:agentId')
  agent(
    @City() city: CityScope,
    @Param('id', ID) id: string,
    @Param('agentId', { schema: SubAgentParam }) agentId: string,
  ): Promise<SessionAgentGetResponse> {
    return this.transcripts.subAgent(city, id, agentId);
  }
}
