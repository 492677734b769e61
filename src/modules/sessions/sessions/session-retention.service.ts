import { Injectable } from '@nestjs/common';
import { SessionDeletionsRepository } from './session-deletions.repository.js';

/** Forgets sessions that were closed long ago, with everything that was said in them. */
@Injectable()
export class SessionRetention {
  constructor(private readonly repository: SessionDeletionsRepository) {}

  /** At most `limit` of a city, the oldest first. Answers how many; who dies in between leaves the rest to the sweep. */
  async prune(streamId: number, olderMs: number, limit: number): Promise<number> {
    const marked = await this.repository.mark(streamId, olderMs, limit);
    for (const pk of marked) await this.repository.delete(pk);
    return marked.length;
  }
}
