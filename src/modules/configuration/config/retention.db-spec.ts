import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CITY_TOML, ConfigFixture } from '../../../../test/support/config-fixture.js';
import type { ConfigProcess } from '../../../../test/support/config-process.js';
import { registerCity } from '../../../../test/support/registry.js';
import type { Lifecycle } from '../../../platform/health/lifecycle.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { MailRetention } from '../../work/mail/mail-retention.js';
import { MailRetentionRepository } from '../../work/mail/mail-retention.repository.js';
import { MailSync } from '../../work/mail/mail-sync.js';
import { OrderHistory } from '../../orchestration/orders/order-history.js';
import { OrderHistoryRepository } from '../../orchestration/orders/order-history.repository.js';
import { OrderSync } from '../../orchestration/orders/order-sync.js';
import { OrderSyncRepository } from '../../orchestration/orders/order-sync.repository.js';
import type { OrderTimes } from '../../orchestration/orders/order-times.js';
import { DeliveriesRepository } from '../../orchestration/orders/webhooks/deliveries.repository.js';
import type { WorkService } from '../../work/work/work.service.js';
import { Following } from './following.js';
import { FollowingRepository } from './following.repository.js';

/** What the files say of how long something is kept has its effect, and others keep theirs. */
const log = new AppLogger(createLogger('silent'));
let fixture: ConfigFixture;
/** Another city, whose files say nothing. */
let beta: number;

beforeEach(async () => {
  fixture = await ConfigFixture.open();
  beta = (await registerCity(fixture.a.db, 'beta', '/beta')).streamId;
});
afterEach(() => fixture.close());

const following = ({ db, reads, transactions }: ConfigProcess): Following =>
  new Following(new FollowingRepository(db), reads, transactions, log);
async function says(text: string): Promise<void> {
  await fixture.write('city.toml', `${CITY_TOML}${text}`);
  await fixture.a.reloads.reload(fixture.city, 'files', 'test');
}

describe('[mail] retention_ttl', () => {
  const retention = (process: ConfigProcess): MailRetention => {
    const repository = new MailRetentionRepository(process.db);
    return new MailRetention(
      ...([undefined as unknown as WorkService, process.transactions, repository] as const),
      ...([new MailSync(repository, following(process)), undefined as unknown as Lifecycle, log] as const),
    );
  };
  const archived = (streamId: number, name: string, days: number): Promise<unknown> =>
    fixture.sql(`insert into messages (stream_id, id, thread_id, principal, recipient, sender, subject, body, archived_at, archived_as)
      select ${streamId}, '${name}-' || n, 't', 'human', 'human', 's', 's', '', now() - interval '${days} days', 'archived' from generate_series(1, 3) n`);
  const left = async (): Promise<string[]> =>
    (await fixture.sql<{ id: string }>('select id from messages order by id')).map(({ id }) => id);

  // Guard: archived mail is kept as long as its city's files say.
  it('says how long archived mail is kept, sooner or later than elsewhere', async () => {
    await archived(fixture.city.streamId, 'new', 1);
    await archived(fixture.city.streamId, 'old', 8);
    await archived(beta, 'theirs', 8);
    const [a, b] = [retention(fixture.a), retention(fixture.b)];
    await a.pass();
    expect(await left()).toHaveLength(9);
    await says('[mail]\nretention_ttl = "7d"\n');
    await Promise.all([a.pass(), b.pass()]);
    expect(await left()).toEqual(['new-1', 'new-2', 'new-3', 'theirs-1', 'theirs-2', 'theirs-3']);
    await says('[mail]\nretention_ttl = "2160h"\n');
    await fixture.sql(`update messages set archived_at = archived_at - interval '40 days'`);
    await a.pass();
    expect(await left()).toEqual(['new-1', 'new-2', 'new-3']);
    await says('');
    await b.pass();
    expect(await left()).toEqual([]);
  });
});

/** All that waits for time goes on as it is; only what asks for the time gets another one. */
const NOT_THE_TIME = [
  ...(['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const),
  ...(['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const),
];

describe('[beads.policies.order_tracking] delete_after_close', () => {
  const fired = (streamId: number, name: string, days: number): Promise<unknown> =>
    fixture.sql(`with o as (insert into orders (stream_id, scoped_name, name, rig, definition, enabled, created_at)
        values (${streamId}, '${name}', '${name}', '', '{}', true, now()))
      insert into order_firings (id, stream_id, scoped_name, name, rig, definition, cause, actor, state, created_at, finished_at, outcome)
      select '${name}-' || n, ${streamId}, '${name}', '${name}', '', '{}', 'run', 'api', 'done', now(), now() - interval '${days} days', 'success'
      from generate_series(1, 12) n order by n`);
  const left = async (): Promise<number> => (await fixture.sql('select 1 from order_firings')).length;

  // Guard: the history of orders is kept as long as its city's files say.
  it('says how long the history of orders is kept, but for the last ten of each', async () => {
    const { db } = fixture.a;
    const times = { now: () => Promise.resolve(new Date()) } as unknown as OrderTimes;
    const sync = new OrderSync(new OrderSyncRepository(db), following(fixture.a), times);
    const history = new OrderHistory(new OrderHistoryRepository(db), new DeliveriesRepository(db));
    await fired(fixture.city.streamId, 'old', 8);
    await fired(fixture.city.streamId, 'new', 1);
    await fired(beta, 'theirs', 8);
    await sync.follow();
    // By the clock of the database, however wrong that of the worker is.
    jest.useFakeTimers({ now: Date.now() + 400 * 86_400_000, doNotFake: NOT_THE_TIME });
    try {
      await history.pass();
    } finally {
      jest.useRealTimers();
    }
    expect(await left()).toBe(36);
    await says('[beads.policies.order_tracking]\ndelete_after_close = "7d"\n');
    await sync.follow();
    await history.pass();
    expect(
      await fixture.sql(`select scoped_name, count(*)::int as n, min(pk) - (select min(pk) from order_firings) > 0 as later from order_firings
      group by scoped_name order by scoped_name`),
    ).toMatchObject([
      { scoped_name: 'new', n: 12 },
      { scoped_name: 'old', n: 10 },
      { scoped_name: 'theirs', n: 12 },
    ]);
    await says('[beads.policies.order_tracking]\ndelete_after_close = "90d"\n');
    await sync.follow();
    await fixture.sql(`update order_firings set finished_at = finished_at - interval '40 days'`);
    await history.pass();
    expect(
      await fixture.sql('select scoped_name, count(*)::int as n from order_firings group by scoped_name order by scoped_name'),
    ).toEqual([
      { scoped_name: 'new', n: 12 },
      { scoped_name: 'old', n: 10 },
      { scoped_name: 'theirs', n: 10 },
    ]);
  });
});

// Guard: what the files say of times is whole milliseconds.
describe('a time that is no whole number of milliseconds', () => {
  it.each([
    ['mail_cities', 'archive_ms', '[mail]\nretention_ttl = "1.1d"\n'],
    ['order_cities', 'history_ms', '[beads.policies.order_tracking]\ndelete_after_close = "1.1d"\n'],
  ])('is followed in %s, and a little longer', async (table, column, text) => {
    const { db } = fixture.a;
    const times = { now: () => Promise.resolve(new Date()) } as unknown as OrderTimes;
    await says(text);
    await new MailSync(new MailRetentionRepository(db), following(fixture.a)).follow();
    await new OrderSync(new OrderSyncRepository(db), following(fixture.a), times).follow();
    expect(await fixture.sql(`select ${column}::text as ms from ${table} where stream_id = ${fixture.city.streamId}`)).toEqual([
      { ms: '95040001' },
    ]);
  });
});
