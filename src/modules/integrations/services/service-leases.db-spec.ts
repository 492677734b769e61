import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { ANYBODY } from '../../../contract/principal.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../platform/idempotency/idempotency.repository.js';
import type { Signals } from '../../../platform/streams/signals.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { KEEPER } from './service-row.js';
import { toStatus } from './services.mapper.js';
import { ServicesService } from './services.service.js';
import { openFixture, type Fixture } from './testing/service-fixture.js';

let database: TestDatabase;
let fixture: Fixture;

beforeEach(async () => {
  database = await cloneDatabase();
  fixture = await openFixture(database.url);
});
afterEach(async () => {
  await fixture.close();
  await database.drop();
});

const READY = { condition: { state: 'ready', localState: 'ready' }, reached: { address: '127.0.0.1:1', instance: 'i' } } as const;
const claim = (worker: string) => fixture.run((tx) => fixture.leases.claim(tx, worker, 60_000));
const publish = (pk: number, generation: number, worker: string) =>
  fixture.run((tx) => fixture.leases.publish(tx, { pk, generation }, worker, READY));

describe('who has a service', () => {
  it('is one process, until it says nothing more of itself', async () => {
    const both = await Promise.all(['a', 'b'].map(claim));
    expect(both.filter((row) => row !== undefined)).toHaveLength(1);
    const mine = both.find((row) => row !== undefined)!;
    expect(mine).toMatchObject({ city: 'alpha', name: 'board', before: null, wanted: true });
    expect(await claim('c')).toBeUndefined();
    await sql`update services set lease_until = now() - interval '1 s'`.execute(fixture.db);
    expect(await claim('c')).toMatchObject({ before: mine.worker, pk: mine.pk });
    expect(await fixture.leases.renew(mine.worker!, [mine.pk], 1_000)).toEqual([]);
    expect(await fixture.leases.renew('c', [mine.pk], 1_000)).toMatchObject([{ pk: mine.pk, wanted: true }]);
  });

  // Guard: a worker that has lost a service says nothing of it.
  it('alone says how it is, as long as it is wanted just so', async () => {
    const { pk, generation } = (await claim('a'))!;
    expect(await publish(pk, generation, 'b')).toBeUndefined();
    expect(await publish(pk, generation, 'a')).toBe(true);
    expect(await publish(pk, generation, 'a')).toBe(false);
    expect(await fixture.route()).toMatchObject({ state: 'ready', owned: true, address: '127.0.0.1:1', instance: 'i' });
    await fixture.run((tx) => fixture.services.restart(tx, fixture.streamId, 'board'));
    // From the restart on nobody is sent to the old process, whatever its owner says of it.
    expect(await fixture.route()).toMatchObject({ state: 'stopping', reason: 'restart_requested', address: null });
    expect(await publish(pk, generation, 'a')).toBeUndefined();
    expect(await publish(pk, generation + 1, 'a')).toBe(true);
  });

  // Guard: who repeats a restart, because the answer was lost, ends no process that was begun since.
  it('begins it anew once for each key', async () => {
    const transactions = new Transactions(fixture.db, new Failpoints());
    const eventLog = new EventLog(new MovedStreams());
    const idempotency = new Idempotency(new IdempotencyRepository());
    const { services, lines, streamId } = fixture;
    const signals = { mark: () => undefined } as unknown as Signals;
    const service = new ServicesService({} as never, services, lines, transactions, eventLog, signals, idempotency);
    const city = { id: 1, name: 'alpha', path: '/alpha', stream: 'alpha', streamId } as unknown as CityScope;
    const generation = async () =>
      (await sql<{ generation: number }>`select generation from services`.execute(fixture.db)).rows[0]!.generation;
    const before = await generation();
    const first = await service.restart(city, 'board', 'k-1', ANYBODY);
    expect(await service.restart(city, 'board', 'k-1', ANYBODY)).toEqual(first);
    expect(await generation()).toBe(before + 1);
    await service.restart(city, 'board', 'k-2', ANYBODY);
    await service.restart(city, 'board', undefined, ANYBODY);
    expect(await generation()).toBe(before + 3);
  });

  // Guard: what an owner says of a service that is not wanted any more counts no more.
  it('puts it away when nobody wants it any more', async () => {
    const { pk, generation } = (await claim('a'))!;
    await sql`update services set wanted = false, present = false`.execute(fixture.db);
    expect(await publish(pk, generation, 'a')).toBeUndefined();
    const stopped = { condition: { state: 'stopped', localState: 'stopped' } } as const;
    expect(await fixture.run((tx) => fixture.leases.publish(tx, { pk, generation }, 'a', stopped))).toBe(true);
    await fixture.run((tx) => fixture.leases.release(tx, pk, 'a'));
    const { rows } = await sql`select 1 from services`.execute(fixture.db);
    expect([rows, KEEPER]).toEqual([[], 'services']);
  });
});

describe('many of one city', () => {
  const others = async (city: string, count: number): Promise<void> => {
    await sql`
      with s as (insert into event_streams (name) values (${city}) returning id),
      c as (insert into cities (name, dir, stream_id, running, phase) select ${city}, '/' || ${city}, id, true, 'running' from s)
      insert into services (stream_id, name, definition, wanted, state, local_state, updated_at)
      select s.id, 's' || n, '{"kind":"proxy_process"}', true, 'starting', 'starting', now() from s, generate_series(1, ${count}::int) n`.execute(
      fixture.db,
    );
  };

  // Guard: of services that wait those of the city of which the fewest run come first.
  it('come after those of others, of which fewer run', async () => {
    await others('beta', 3);
    await others('gamma', 1);
    const taken: string[] = [];
    for (let row = await claim('a'); row !== undefined; row = await claim('a')) taken.push(row.city);
    expect(taken).toEqual(['alpha', 'beta', 'gamma', 'beta', 'beta']);
  });

  // Guard: the last places of a worker are for cities of which it has few services.
  it('leave the last places of a worker to others, and are put away all the same', async () => {
    await others('beta', 3);
    const few = (worker: string) => fixture.run((tx) => fixture.leases.claim(tx, worker, 60_000, 2));
    expect([(await few('a'))?.city, (await few('a'))?.city, (await few('a'))?.city]).toEqual(['alpha', 'beta', 'beta']);
    expect(await few('a')).toBeUndefined();
    expect((await few('b'))?.city).toBe('beta');
    await sql`update services set lease_until = now() - interval '1 s', wanted = false where worker = 'b'`.execute(fixture.db);
    expect((await few('a'))?.city).toBe('beta');
  });

  it('are said to wait for a place when they have for a while', async () => {
    const told = async () => toStatus('alpha', (await fixture.services.list(fixture.streamId)).rows[0]!, undefined);
    expect(await told()).toMatchObject({ state: 'starting', reason: 'publication_unavailable' });
    await sql`update services set updated_at = now() - interval '6 s'`.execute(fixture.db);
    expect(await told()).toMatchObject({
      state: 'starting',
      reason: 'no_place',
      detail: expect.stringContaining('no worker has taken it'),
    });
    await claim('a');
    expect(await told()).toMatchObject({ state: 'starting', reason: 'publication_unavailable' });
  });
});

describe('what it writes', () => {
  it('is numbered without a gap, and the last of it is kept', async () => {
    const { pk } = (await claim('a'))!;
    const at = new Date();
    const lines = (count: number) => Array.from({ length: count }, (_, n) => ({ at, text: `${n}` }));
    await Promise.all(Array.from({ length: 5 }, () => fixture.lines.append(pk, 1, lines(7))));
    const first = await fixture.lines.last(pk, 100, 100);
    expect(first.map(({ seq }) => seq)).toEqual(Array.from({ length: 35 }, (_, n) => n + 1));
    await fixture.lines.append(pk, 1, lines(1_990));
    const [before] = await fixture.lines.after([{ pk, pos: 0 }], 5_000);
    expect([before!.head, before!.rows.length, before!.rows[0]!.seq]).toEqual([2_025, 2_000, 26]);
    await fixture.lines.append(pk, 1, lines(3_000));
    const [after] = await fixture.lines.after([{ pk, pos: 0 }], 5_000);
    expect([after!.head, after!.rows.length, after!.rows[0]!.seq]).toEqual([5_025, 2_000, 3_026]);
  });
});
