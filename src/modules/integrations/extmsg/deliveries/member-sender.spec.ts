import { describe, expect, it } from '@jest/globals';
import type { Db } from '../../../../platform/database/database.js';
import type { AppLogger } from '../../../../platform/logging/logger.js';
import type { SessionChangesService } from '../../../sessions/session-store/session-changes.service.js';
import { ExtmsgTimings } from '../extmsg-timings.js';
import type { DeliveriesRepository, Due } from './deliveries.repository.js';
import { MemberSender } from './member-sender.js';

/** A sender before so many that are due in cities that are stopped. */
function before(count: number, later: () => Promise<void>): MemberSender {
  const page = Array.from({ length: count }, (_, pk) => ({ pk, member: true, city: 'demo', attempts: 0, overdue: false }) as Due);
  const repository = { due: async () => page, runningCity: async () => undefined, later } as unknown as DeliveriesRepository;
  const sessions = { runInAnyState: async (...[, , body]: any[]) => body({}) } as unknown as SessionChangesService;
  const log = { warn: () => undefined } as unknown as AppLogger;
  const none = undefined as never;
  return new MemberSender({} as Db, repository, none, none, sessions, none, new ExtmsgTimings(), none, none, none, log);
}

describe('a turn of what members are told', () => {
  // Guard: behind a page of those that have to wait is one that can be told.
  it('is followed by another at once where its page was full, though all of it has to wait', async () => {
    expect(await before(100, async () => undefined).turn()).toBe(true);
    expect(await before(99, async () => undefined).turn()).toBe(false);
  });

  it('is followed by none at once where nothing could be written: the next page would be the same', async () => {
    expect(await before(100, () => Promise.reject(new Error('read only'))).turn()).toBe(false);
  });
});
