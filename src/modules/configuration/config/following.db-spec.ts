import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ConfigFixture } from '../../../../test/support/config-fixture.js';
import type { ConfigProcess } from '../../../../test/support/config-process.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import type { Signalled, Signals } from '../../../platform/streams/signals.js';
import type { Follower, RunningFollower } from './follower.js';
import { AT_ONCE, Following } from './following.js';
import { FollowingRepository } from './following.repository.js';

let fixture: ConfigFixture;
let a: Following;
let b: Following;
/** What was followed, in this order. */
let told: string[];

const of = ({ db, reads, transactions }: ConfigProcess): Following =>
  new Following(new FollowingRepository(db), reads, transactions, new AppLogger(createLogger('silent')));

beforeEach(async () => {
  fixture = await ConfigFixture.open();
  a = of(fixture.a);
  b = of(fixture.b);
  told = [];
});
afterEach(() => fixture.close());

const MAINTENANCE: Follower = {
  table: 'maintenance_cities',
  what: 'maintenance',
  follow: (_tx, { name }, { revision }) => Promise.resolve(void told.push(`${name} ${revision}`)),
};
const SERVICES: RunningFollower = {
  table: 'service_cities',
  what: 'services',
  follow: (_tx, { name }, { revision }, running) => Promise.resolve(void told.push(`${name} ${revision} ${running}`)),
  gone: (_tx, { name }) => Promise.resolve(void told.push(`${name} is gone`)),
};

async function change(text: string): Promise<void> {
  await fixture.write('scout.md', text);
  await fixture.a.reloads.reload(fixture.city, 'files', 'test');
}

/** So many cities beside the first, with what that one runs. */
async function more(cities: number): Promise<void> {
  await fixture.sql(`
    with streams as (insert into event_streams (name) select 'city-' || n from generate_series(0, ${cities - 1}) n returning id, name),
      made as (insert into cities (name, dir, stream_id, running) select name, '/' || name, id, true from streams),
      states as (insert into config_states (stream_id, revision) select id, 1 from streams)
    insert into config_revisions (stream_id, revision, hash, cause, actor, config, origins, answer)
      select s.id, 1, r.hash, r.cause, r.actor, r.config, r.origins, r.answer from streams s, config_revisions r`);
}

describe('what a city runs', () => {
  it('is followed once a revision by each who keeps something of it, whoever does it', async () => {
    const turns = (): Promise<number[]> => Promise.all([a, b, a, b].map((each) => each.turn(MAINTENANCE)));
    expect((await turns()).reduce((sum, n) => sum + n)).toBe(1);
    expect(await a.turn(SERVICES)).toBe(1);
    await change('Look twice.\n');
    await change('Look again.\n');
    expect((await turns()).reduce((sum, n) => sum + n)).toBe(1);
    expect(told).toEqual(['alpha 1', 'alpha 1 true', 'alpha 3']);
  });

  it('is followed again when that has failed, with nothing left of the first time', async () => {
    const failing: Follower = {
      ...MAINTENANCE,
      follow: async (tx, { streamId }) => {
        await sql`update maintenance_cities set disk = 'warn' where stream_id = ${streamId}`.execute(tx);
        throw new Error('it cannot be followed');
      },
    };
    expect(await a.turn(failing)).toBe(0);
    expect(await fixture.sql('select from maintenance_cities')).toEqual([]);
    expect(await b.turn(MAINTENANCE)).toBe(1);
  });

  it('is followed of many at once by who looks rarely, and of a few by who has other things to do', async () => {
    await more(3 * AT_ONCE);
    expect([await a.turn(MAINTENANCE), await a.rareTurn(MAINTENANCE), await a.rareTurn(MAINTENANCE)]).toEqual([
      AT_ONCE,
      2 * AT_ONCE + 1,
      0,
    ]);
  });

  // Guard: cities that cannot be followed keep no other from its turn.
  it('is followed behind any number of cities that cannot be', async () => {
    await more(AT_ONCE + 1);
    const last = `city-${AT_ONCE}`;
    const failing: Follower = {
      ...MAINTENANCE,
      follow: (tx, city, current) =>
        city.name === last ? MAINTENANCE.follow(tx, city, current) : Promise.reject(new Error('it is broken')),
    };
    expect([await a.turn(failing), await a.turn(failing)]).toEqual([0, 1]);
    expect(told).toEqual([`${last} 1`]);
  });

  it('is asked about when its log has moved, where that is told', async () => {
    let tell: (names: Signalled) => void = () => undefined;
    const signals = { reliable: true, onStreams: (listener: typeof tell) => void (tell = listener) } as unknown as Signals;
    const { db, reads, transactions } = fixture.a;
    const hinted = new Following(new FollowingRepository(db), reads, transactions, new AppLogger(createLogger('silent')), signals);
    expect([await hinted.turn(MAINTENANCE), await hinted.turn(SERVICES)]).toEqual([1, 1]);
    await change('Look twice.\n');
    expect([await hinted.turn(MAINTENANCE), await hinted.turn(SERVICES)]).toEqual([0, 0]);
    tell(new Set(['beta', 'alpha']));
    expect([await hinted.turn(MAINTENANCE), await hinted.turn(SERVICES), await hinted.turn(MAINTENANCE)]).toEqual([1, 1, 0]);
    await fixture.sql('delete from cities');
    tell(new Set(['alpha']));
    expect([await hinted.turn(MAINTENANCE), await hinted.turn(SERVICES)]).toEqual([0, 1]);
  });

  it('is not followed by a process that stops', async () => {
    expect(await a.turn(MAINTENANCE, AbortSignal.abort())).toBe(0);
    expect(told).toEqual([]);
  });
});

describe('what is there while a city runs', () => {
  it('follows its running, and its end', async () => {
    await a.turn(SERVICES);
    await fixture.sql('update cities set running = false');
    expect([await a.turn(MAINTENANCE), await a.turn(SERVICES), await b.turn(SERVICES)]).toEqual([1, 1, 0]);
    await fixture.sql('delete from cities');
    expect([await a.turn(MAINTENANCE), await a.turn(SERVICES), await b.turn(SERVICES)]).toEqual([0, 1, 0]);
    expect(told).toEqual(['alpha 1 true', 'alpha 1', 'alpha 1 false', 'alpha is gone']);
    expect(await fixture.sql('select from service_cities')).toEqual([]);
  });
});
