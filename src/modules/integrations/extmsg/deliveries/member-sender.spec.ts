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

describe('what a member is told by his name', () => {
  // Guard: a session that ends for the next one of its name takes nothing along that was for the name.
  it('goes to the next session of the name where the one that had it ends right before', async () => {
    const due = { pk: 1, id: 'd-1', member: true, city: 'demo', provider: 'chat', selector: 'front', attempts: 0 } as Due;
    const found = [
      { pk: 1, id: 'al-1', state: 'closed' },
      { pk: 2, id: 'al-2', state: 'asleep', stop_request: null },
    ];
    const told: string[] = [];
    const failed: unknown[] = [];
    const repository = {
      due: async () => [due],
      runningCity: async () => ({ name: 'demo' }),
      lockPending: async () => ({ ...due, told: false, overdue: false, waiting: 0 }),
      queued: async () => true,
      end: async (...[, , how]: any[]) => void failed.push(how),
    } as unknown as DeliveriesRepository;
    const sessions = {
      run: async (...[, , body]: any[]) =>
        body({ tx: undefined, city: { stream: 'demo' }, emit: () => undefined, require: async (pk: number) => found[pk - 1] }),
    } as unknown as SessionChangesService;
    let looks = 0;
    const resolver = { resolve: async () => found[looks++] } as never;
    const suspension = { blockerOf: async () => undefined } as never;
    const queue = { enqueue: async (_: unknown, { id }: { id: string }) => (told.push(id), { message: { id: 'msg-1' } }) } as never;
    const log = { warn: () => undefined } as unknown as AppLogger;
    const none = undefined as never;
    const sender = new MemberSender(
      {} as Db,
      repository,
      resolver,
      suspension,
      sessions,
      queue,
      new ExtmsgTimings(),
      none,
      none,
      none,
      log,
    );
    expect(await sender.turn()).toBe(true);
    expect({ told, failed }).toEqual({ told: ['al-2'], failed: [] });
  });
});
