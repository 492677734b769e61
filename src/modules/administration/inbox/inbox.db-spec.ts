import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { plansOf, rowsRead } from '../../../../test/support/plans.js';
import { registerCity } from '../../../../test/support/registry.js';
import { ANYBODY } from '../../../contract/principal.js';
import { encodeToken } from '../../../contract/token.js';
import { createDb, createPool, type Db } from '../../../platform/database/database.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { InboxRepository } from './inbox.repository.js';
import { InboxQuery, type InboxOutputBody } from './inbox.schemas.js';
import { InboxService } from './inbox.service.js';

let database: TestDatabase;
let db: Db;
let service: InboxService;

const inbox = (query: object = {}, cities?: readonly string[], most?: number): Promise<InboxOutputBody> =>
  service.list(InboxQuery.parse(query), { ...ANYBODY, cities }, most);
const ids = ({ items }: InboxOutputBody): string[] => items.map(({ id }) => id);

beforeAll(async () => {
  database = await cloneDatabase();
  db = createDb(createPool(database.url, { max: 3 }));
  service = new InboxService(db, new InboxRepository(db), new EventLog(new MovedStreams()));
  const { streamId: alpha } = await registerCity(db, 'alpha', '/alpha');
  const { streamId: beta } = await registerCity(db, 'beta', '/beta');
  const { streamId: gone } = await registerCity(db, 'gone', '/gone');
  await sql`update cities set running = false where name = 'gone'`.execute(db);
  const day = (n: number): string => `2026-01-0${n}T00:00:00Z`;
  await sql`
    insert into beads (stream_id, id, title, status, open_blockers, defer_until, assignee, author, priority, created_at, closed_at) values
      (${alpha}, 'al-1', 'Decide', 'open', 0, null, 'human', 'mayor', 1, ${day(2)}, null),
      (${beta}, 'be-1', 'At it', 'in_progress', 0, null, 'human', null, null, ${day(4)}, null),
      (${alpha}, 'al-2', 'blocked', 'open', 1, null, 'human', null, null, ${day(1)}, null),
      (${alpha}, 'al-3', 'later', 'open', 0, now() + interval '1 day', 'human', null, null, ${day(1)}, null),
      (${alpha}, 'al-4', 'done', 'closed', 0, null, 'human', null, null, ${day(1)}, now()),
      (${alpha}, 'al-5', 'an agent has it', 'open', 0, null, 'mayor', null, null, ${day(1)}, null),
      (${alpha}, 'al-6', 'nobody has it', 'open', 0, null, null, null, null, ${day(1)}, null),
      (${gone}, 'go-1', 'of a city that does not run', 'open', 0, null, 'human', null, null, ${day(1)}, null)`.execute(db);
  await sql`
    insert into messages (stream_id, id, thread_id, principal, recipient, sender, subject, body, created_at, read_at, archived_at, archived_as)
    select ${alpha}, 'm-' || n, 't-' || n, p, p, 'mayor', 'Plan ' || n, 'b', at::timestamptz, r, x, case when x is not null then 'archived' end
    from (values (1, 'human', ${day(3)}, null::timestamptz, null::timestamptz), (2, 'human', ${day(3)}, now(), null),
      (3, 'human', ${day(3)}, null, now()), (4, 'mayor', ${day(3)}, null, null), (5, 'human', ${day(4)}, null, null)) v(n, p, at, r, x)`.execute(
    db,
  );
});
afterAll(async () => {
  await db?.destroy();
  await database?.drop();
});

describe('the inbox', () => {
  it('reads nothing of what waits in other cities for whoever may see some', async () => {
    const other = await cloneDatabase();
    const pool = createPool(other.url, { max: 3 });
    try {
      const of = createDb(pool);
      const { streamId: loud } = await registerCity(of, 'loud', '/loud');
      const quiet = Array.from({ length: 20 }, (_, i) => `quiet-${i}`);
      for (const name of quiet) await registerCity(of, name, `/${name}`);
      // What is last is a quiet city's, and each of the others has one before.
      const rows = sql`
        select s.id as stream_id, n, '2026-01-01Z'::timestamptz + n * interval '1 second' as at from event_streams s, generate_series(1, 4000) n
        where n = 4000 and s.name = 'quiet-7' or n between 1001 and 3999 and s.id = ${loud}::int or n = s.id and s.name like 'quiet%'`;
      await sql`insert into beads (stream_id, id, title, assignee, created_at) select stream_id, 'b-' || n, 't', 'human', at from (${rows}) r`.execute(
        of,
      );
      await sql`
        insert into messages (stream_id, id, thread_id, principal, recipient, sender, subject, body, created_at)
        select stream_id, 'm-' || n, 't', 'human', 'human', 'a', 's', 'b', at from (${rows}) r`.execute(of);
      for (const table of ['beads', 'messages', 'cities']) await sql`analyze ${sql.table(table)}`.execute(of);
      for (const [names, n] of [
        [['quiet-7'], 2],
        [quiet, 21],
      ] as const) {
        const scope = { names, kinds: ['bead', 'mail'] as const };
        const nodes = await plansOf(pool, async (traced) => {
          const repository = new InboxRepository(traced);
          const page = await repository.page({ ...scope, after: undefined, limit: 100 });
          expect([page.length, ...page.slice(-2).map(({ id }) => id)]).toEqual([2 * n, 'b-4000', 'm-4000']);
          expect(await repository.count({ ...scope, most: 10_000 })).toEqual({ bead: n, mail: n });
        });
        for (const table of ['beads', 'messages']) expect([table, Math.round(rowsRead(nodes, table))]).toEqual([table, 2 * n]);
      }
      // Of very many, which have most of what there is, none is looked at alone.
      const none = Array.from({ length: 100 }, (_, i) => `none-${i}`);
      const asked = async (cities: readonly string[], limit: number) => {
        let page: readonly { readonly id: string }[] = [];
        const nodes = await plansOf(pool, async (traced) => {
          page = await new InboxRepository(traced).page({ names: cities, kinds: ['bead'], after: undefined, limit });
        });
        return { page, nodes: nodes.filter((node) => node['Relation Name'] === 'beads' && Number(node['Actual Loops']) > 0) };
      };
      const busy = await asked(['loud', ...quiet, ...none], 1_000);
      expect([busy.page.length, busy.nodes.map((node) => node['Actual Loops'])]).toEqual([1_001, [1]]);
      // Of very many that have little, not all is read that waits elsewhere.
      const { page, nodes } = await asked([...quiet, ...none], 99);
      expect([page.length, page.at(-1)!.id]).toEqual([21, 'b-4000']);
      expect(Math.round(rowsRead(nodes, 'beads'))).toBe(2_000 + 21);
      // For a large page it is read first, if it is little beside a page of each.
      const large = await asked([...quiet, ...none], 1_000);
      expect([large.page.length, large.nodes.map((node) => node['Actual Loops'])]).toEqual([21, [1]]);
      const counted = await plansOf(pool, async (traced) => {
        const found = await new InboxRepository(traced).count({ names: [...quiet, ...none], kinds: ['bead', 'mail'], most: 10_000 });
        expect(found).toEqual({ bead: 21, mail: 21 });
      });
      expect(Math.round(rowsRead(counted, 'beads'))).toBe(21);
    } finally {
      await pool.end();
      await other.drop();
    }
  });

  it('has what waits for people and for nothing else, the oldest first', async () => {
    const { items, event_cursor, ...rest } = await inbox();
    expect(items).toEqual([
      {
        kind: 'bead',
        city: 'alpha',
        id: 'al-1',
        title: 'Decide',
        since: '2026-01-02T00:00:00.000Z',
        from: 'mayor',
        priority: 1,
        status: 'open',
      },
      { kind: 'mail', city: 'alpha', id: 'm-1', title: 'Plan 1', since: '2026-01-03T00:00:00.000Z', from: 'mayor', thread_id: 't-1' },
      { kind: 'bead', city: 'beta', id: 'be-1', title: 'At it', since: '2026-01-04T00:00:00.000Z', status: 'in_progress' },
      { kind: 'mail', city: 'alpha', id: 'm-5', title: 'Plan 5', since: '2026-01-04T00:00:00.000Z', from: 'mayor', thread_id: 't-5' },
    ]);
    expect(event_cursor).toContain('alpha:');
    expect(rest).toEqual({ total: 4, counts: { bead: 2, mail: 2 } });
  });

  it('has cities beside it whose files cannot be used, of those that run and that the caller may see', async () => {
    const reject = (at: string) => JSON.stringify({ hash: 'h', since: at, errors: ['city.toml:3: no', 'more'], errors_total: 2 });
    await sql`
      insert into config_states (stream_id, revision, rejected) select c.stream_id, 1, case c.name
        when 'alpha' then ${reject('2026-01-05T00:00:00.000Z')}::jsonb when 'beta' then ${reject('2026-01-04T00:00:00.000Z')}::jsonb
        else ${reject('2026-01-01T00:00:00.000Z')}::jsonb end
      from cities c`.execute(db);
    const alpha = { city: 'alpha', since: '2026-01-05T00:00:00.000Z', error: 'city.toml:3: no' };
    const beta = { ...alpha, city: 'beta', since: '2026-01-04T00:00:00.000Z' };
    expect((await inbox()).rejected).toEqual([beta, alpha]);
    expect((await inbox({}, ['beta'])).rejected).toEqual([beta]);
    expect((await inbox({ cities: 'alpha' })).rejected).toEqual([alpha]);
    const { next_cursor: cursor } = await inbox({ limit: '1' });
    for (const query of [{ kind: 'bead' }, { cursor }]) expect(await inbox(query)).not.toHaveProperty('rejected');
    await sql`update config_states set rejected = null`.execute(db);
    expect(await inbox()).not.toHaveProperty('rejected');
  });

  it('goes on behind what was shown, also among what is as old', async () => {
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await inbox({ limit: '1', ...(cursor === undefined ? {} : { cursor }) });
      expect([page.items.length, page.total]).toEqual([1, 4]);
      found.push(...ids(page));
      cursor = page.next_cursor;
    } while (cursor !== undefined);
    expect(found).toEqual(['al-1', 'm-1', 'be-1', 'm-5']);
    for (const made of ['v1:e30', encodeToken({ k: 'inbox', us: '1', kind: 'bead', n: 1, id: '\0' })])
      await expect(inbox({ cursor: made })).rejects.toThrow('invalid_cursor');
  });

  it('shows, and counts, only what is asked for and what the caller may see', async () => {
    expect(ids(await inbox({ kind: 'mail' }))).toEqual(['m-1', 'm-5']);
    for (const seen of [await inbox({}, ['beta']), await inbox({ cities: 'alpha,beta' }, ['beta', 'gone'])]) {
      expect([ids(seen), seen.total, seen.counts]).toEqual([['be-1'], 1, { bead: 1, mail: 0 }]);
      expect(seen.event_cursor).not.toContain('alpha');
    }
    expect(await inbox({}, [])).toMatchObject({ items: [], total: 0 });
  });

  it('counts so much and says that there is more', async () => {
    expect(await inbox({}, undefined, 1)).toMatchObject({ total: 2, counts: { bead: 1, mail: 1 }, total_is_estimate: true });
    expect(await inbox({}, undefined, 2)).not.toHaveProperty('total_is_estimate');
  });
});
