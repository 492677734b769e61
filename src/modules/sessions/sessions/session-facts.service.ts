import { Injectable } from '@nestjs/common';
import type { LiveSession, SessionCounts } from './session-facts.js';
import { SessionViewsRepository } from './session-views.repository.js';

export type { LiveSession, SessionCounts } from './session-facts.js';

/** What other families want to know of a city's sessions. */
@Injectable()
export class SessionReads {
  constructor(private readonly repository: SessionViewsRepository) {}

  /** The live session of each of these names, the newest where there are several. Names without one are absent. */
  async liveByAgentName(streamId: number, names: readonly string[]): Promise<ReadonlyMap<string, LiveSession>> {
    if (names.length === 0) return new Map();
    return new Map((await this.repository.liveByAgentName(streamId, names)).map((row) => [row.agent_name, row]));
  }

  counts(streamId: number): Promise<SessionCounts> {
    return this.repository.counts(streamId);
  }
}
