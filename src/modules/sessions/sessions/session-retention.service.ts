import { Injectable } from '@nestjs/common';
import { eachAlone } from '../../../platform/health/each-alone.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { SessionDeletionsRepository } from './session-deletions.repository.js';

const BATCH = 20;

/** Forgets sessions that are to be deleted, or were closed long ago, with everything that was said in them. */
@Injectable()
export class SessionRetention {
  constructor(
    private readonly repository: SessionDeletionsRepository,
    private readonly log: AppLogger,
  ) {}

  /** At most `limit` of a city, the oldest first. What is not gone of those that are marked, for whatever reason, is left to the sweep. */
  async prune(streamId: number, olderMs: number, limit: number, signal?: AbortSignal): Promise<{ marked: number; gone: number }> {
    const marked = await this.repository.mark(streamId, olderMs, limit);
    return { marked: marked.length, gone: await this.#delete(marked, signal) };
  }

  /** Goes on with those that are to be deleted. Answers how many are gone. */
  async sweep(signal?: AbortSignal): Promise<number> {
    return this.#delete(await this.repository.pending(BATCH), signal);
  }

  #delete(pks: readonly number[], signal?: AbortSignal): Promise<number> {
    const alone = { failed: 'a session could not be deleted', about: (session: number) => ({ session }), signal };
    return eachAlone(pks, this.log, alone, (pk) => this.repository.delete(pk));
  }
}
