import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import type { AgentOutputResponse } from '../../../contract/transcripts.schemas.js';
import { findMember } from '../agents/agent-members.js';
import { agentNotFound } from '../agents/agent-problems.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { conversation } from './conversation.js';
import { LiveReads, type AgentSession } from './live-reads.repository.js';
import type { AgentOutputQuery } from './transcripts.query.js';
import { paginationOf, TranscriptsService } from './transcripts.service.js';

export interface AgentWithSession {
  /** Qualified; of a pool's member its own name. */
  readonly agent: string;
  readonly session: AgentSession;
}

/** What agents say, whichever session says it. */
@Injectable()
export class AgentOutput {
  constructor(
    private readonly config: ConfigReadsService,
    private readonly reads: LiveReads,
    private readonly transcripts: TranscriptsService,
  ) {}

  /** @throws ProblemError agent_not_found, also while there is nothing to show */
  async find(city: CityScope, dir: string, base: string): Promise<AgentWithSession> {
    const { config } = await this.config.current(city);
    const member = findMember(config, dir, base);
    if (member === undefined) throw agentNotFound(dir, base);
    const [session] = await this.reads.speaking([{ streamId: city.streamId, agent: member.name, above: 0 }]);
    if (session === undefined || (!session.live && session.entries === 0))
      throw problem('agent_not_found', `agent ${member.name} has no output`);
    return { agent: member.name, session };
  }

  /** @throws ProblemError agent_not_found, transcript_cursor_invalidated */
  async get(city: CityScope, dir: string, base: string, { tail = '1', before }: AgentOutputQuery): Promise<AgentOutputResponse> {
    const { agent, session } = await this.find(city, dir, base);
    const page = await this.transcripts.page(session.pk, { tail, before }, false);
    const turns = conversation(page.rows, false);
    return { agent, format: 'conversation', session_id: page.id, turns, pagination: paginationOf(page, { tail }) };
  }
}
