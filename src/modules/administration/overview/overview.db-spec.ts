import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { registerCity } from '../../../../test/support/registry.js';
import { putSession } from '../../../../test/support/session-examples.js';
import { ANYBODY } from '../../../contract/principal.js';
import { createDb, createPool, type Db } from '../../../platform/database/database.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { CitiesUsageRepository } from '../../sessions/usage/cities-usage.repository.js';
import { CitiesUsageService } from '../../sessions/usage/cities-usage.service.js';
import { OverviewRepository } from './overview.repository.js';
import { OverviewQuery, type OverviewOutputBody } from './overview.schemas.js';
import { OverviewService } from './overview.service.js';

let database: TestDatabase;
let db: Db;
let service: OverviewService;

const overview = (query: object = {}, cities?: readonly string[], most?: number): Promise<OverviewOutputBody> =>
  service.overview(OverviewQuery.parse(query), { ...ANYBODY, cities }, most);

beforeAll(async () => {
  database = await cloneDatabase();
  db = createDb(createPool(database.url, { max: 3 }));
  service = new OverviewService(
    db,
    new OverviewRepository(db),
    new CitiesUsageService(new CitiesUsageRepository(db)),
    new EventLog(new MovedStreams()),
  );
  const { streamId: alpha } = await registerCity(db, 'alpha', '/alpha');
  const { streamId: beta } = await registerCity(db, 'beta', '/beta');
  await registerCity(db, 'gamma', '/gamma');
  await sql`update cities set running = false, phase = 'init_failed', error = repeat('e', 1000) where name = 'beta'`.execute(db);
  await sql`update cities set suspended = true where name = 'gamma'`.execute(db);
  // A city that does not run says nothing of its files.
  await sql`
    insert into config_states (stream_id, rejected) select stream_id, jsonb_build_object('errors', array[repeat('f', 400), 'g'])
    from cities where name in ('beta', 'gamma')`.execute(db);
  const { pk } = await putSession(database.url, 'alpha', { id: 'al-1' });
  await putSession(database.url, 'alpha', { id: 'al-2', token: false });
  // Without a process nobody is active.
  await putSession(database.url, 'alpha', { id: 'al-3', token: false, state: 'active' });
  await putSession(database.url, 'alpha', { id: 'al-4', token: false, state: 'closed' });
  const lost = await putSession(database.url, 'beta', { id: 'be-1', token: false, state: 'quarantined' });
  for (const [stream, session, status] of [
    [alpha, pk, 'open'],
    [alpha, pk, 'answered'],
    [beta, lost.pk, 'open'],
  ] as const)
    await sql`
      insert into session_interactions (stream_id, session_pk, request_id, generation, kind, prompt, options, opened_rev, status)
      select ${stream}, ${session}, ${status} || ${session}, 1, 'permission', 'May I?', '[]', 1, ${status}`.execute(db);
  await sql`
    insert into beads (stream_id, id, title, status, open_blockers, defer_until, assignee, closed_at) values
      (${alpha}, 'al-10', 'ready', 'open', 0, null, null, null), (${alpha}, 'al-11', 'blocked', 'open', 1, null, null, null),
      (${alpha}, 'al-12', 'later', 'open', 0, now() + interval '1 day', null, null), (${alpha}, 'al-13', 'taken', 'in_progress', 0, null, 'a', null),
      (${alpha}, 'al-14', 'done', 'closed', 0, null, null, now()), (${beta}, 'be-10', 'ready', 'open', 0, null, null, null)`.execute(db);
  await sql`
    insert into messages (stream_id, id, thread_id, principal, recipient, sender, subject, body, read_at, archived_at, archived_as)
    select ${alpha}, 'm-' || n, 't', p, p, 'a', 's', 'b', r, x, case when x is not null then 'archived' end
    from (values (1, 'human', null::timestamptz, null::timestamptz), (2, 'human', now(), null), (3, 'human', null, now()), (4, 'mayor', null, null)) v(n, p, r, x)`.execute(
    db,
  );
  await sql`
    insert into session_turns (session_pk, turn, stream_id, generation, ended_at, cost_usd, input_tokens)
    values (${pk}, 1, ${alpha}, 1, now(), 0.25, 9), (${pk}, 2, ${alpha}, 1, now(), null, 9), (${pk}, 3, ${alpha}, 1, now() - interval '2 days', 7, 9)`.execute(
    db,
  );
  await sql`update event_streams set head = 7, last_ts = '2026-01-02T03:04:05Z' where id = ${alpha}`.execute(db);
});
afterAll(async () => {
  await db?.destroy();
  await database?.drop();
});

describe('the overview', () => {
  it('counts what each city has, as its own lists do', async () => {
    const { items, total, event_cursor } = await overview();
    expect(items).toEqual([
      {
        name: 'alpha',
        running: true,
        status: 'running',
        suspended: false,
        sessions: { active: 1, asleep: 2 },
        pending: 1,
        open: 3,
        ready: 1,
        in_progress: 1,
        unread: 1,
        cost_today_usd: 0.25,
        unpriced_today: 1,
        last_event: { seq: 7, ts: '2026-01-02T03:04:05.000Z' },
      },
      expect.objectContaining({
        name: 'beta',
        running: false,
        status: 'init_failed',
        error: 'e'.repeat(300),
        sessions: { quarantined: 1 },
        pending: 0,
        ready: 1,
      }),
      expect.objectContaining({ name: 'gamma', suspended: true, sessions: {}, open: 0, cost_today_usd: 0, config_error: 'f'.repeat(300) }),
    ]);
    expect(items[1]).not.toHaveProperty('config_error');
    expect(items[2]).not.toHaveProperty('last_event');
    expect([total, event_cursor]).toEqual([3, expect.stringContaining('alpha:7')]);
  });

  it('has all of them together on the first page, and goes on by name', async () => {
    const first = await overview({ limit: '2' });
    const all = {
      cities: 3,
      running: 2,
      sessions: { active: 1, asleep: 2, quarantined: 1 },
      pending: 1,
      open: 4,
      ready: 2,
      in_progress: 1,
      unread: 1,
    };
    expect([first.items.map(({ name }) => name), first.totals, first.next_cursor]).toEqual([['alpha', 'beta'], all, 'beta']);
    const second = await overview({ limit: '2', cursor: 'beta' });
    expect([second.items.map(({ name }) => name), second.total, second.totals, second.next_cursor]).toEqual([
      ['gamma'],
      3,
      undefined,
      undefined,
    ]);
  });

  it('shows, and counts, only what the caller may see', async () => {
    for (const seen of [await overview({}, ['beta']), await overview({ cities: 'alpha,beta' }, ['beta', 'gamma'])]) {
      expect(seen.items.map(({ name }) => name)).toEqual(['beta']);
      expect([seen.total, seen.totals]).toEqual([1, expect.objectContaining({ cities: 1, running: 0, pending: 0, open: 1, unread: 0 })]);
      expect(seen.event_cursor).not.toContain('alpha');
    }
    expect(await overview({}, [])).toMatchObject({ items: [], total: 0, totals: { cities: 0, sessions: {}, open: 0 } });
  });

  it('counts so many beads and says that there are more', async () => {
    expect((await overview({}, undefined, 4)).totals).toMatchObject({ total_is_estimate: true });
    expect((await overview({}, undefined, 5)).totals).not.toHaveProperty('total_is_estimate');
  });

  it('counts so much of each city, and says of which there is more', async () => {
    const { items } = await overview({}, undefined, 3);
    // Alpha has four beads that are not closed, beta one.
    expect(items.map(({ name, open, in_progress, total_is_estimate: more }) => [name, open + in_progress, more])).toEqual([
      ['alpha', 3, true],
      ['beta', 1, undefined],
      ['gamma', 0, undefined],
    ]);
    expect((await overview()).items[0]).not.toHaveProperty('total_is_estimate');
  });
});
