import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { CityConfig } from '../../files/composition/city-config.js';
import { sessionFixture, type SessionFixture } from '../messages/testing/session-fixture.js';
import { EmptyRunsRepository } from './empty-runs.repository.js';
import { EmptyRunsService } from './empty-runs.service.js';

let fixture: SessionFixture;
beforeEach(async () => {
  fixture = await sessionFixture();
});
afterEach(() => fixture.stop());

/** So many runs of a pool that ended, the last one this long ago, a second between them. */
async function ended(
  template: string,
  n: number,
  agoS: number,
  metadata: Record<string, string> = {},
  code = 'drained',
  ready = true,
): Promise<void> {
  await sql`
    insert into sessions (stream_id, id, session_name, title, kind, template, agent, agent_name, provider, origin, created_by, state, close_code, metadata, closed_at, ready_at)
    select ${fixture.city.streamId}, x.name, x.name, 'x', 'agent', ${template}, ${template}, ${`${template}-1`}, 'loopback', 'pool', 'reconciler', 'closed',
      ${code}, ${JSON.stringify(metadata)}::jsonb, clock_timestamp() - (${agoS}::int + g) * interval '1 second', ${ready ? new Date() : null}::timestamptz
    from generate_series(1, ${n}::int) g cross join lateral (select ${`${template}-${code}-${agoS}-`} || g as name) x`.execute(fixture.db);
}
const empty = { empty_run: 'x', empty_for: 'pool' };
const CONFIG = {} as CityConfig;
const service = (startsFrom?: string): EmptyRunsService => {
  const runs = new EmptyRunsService(fixture.db, new EmptyRunsRepository());
  if (startsFrom !== undefined) runs.startsFrom((_, { template, options }) => `${startsFrom} ${template} ${options.model ?? ''}`);
  return runs;
};
const found = async (startsFrom?: string): Promise<Record<string, number>> => {
  const { emptyRuns, idleRuns } = await service(startsFrom).of(fixture.db, fixture.city.streamId, CONFIG);
  const idle = [...idleRuns].map(([name, { count }]) => [`idle ${name}`, count]);
  return Object.fromEntries([...[...emptyRuns].map(([name, { count }]) => [name, count]), ...idle]);
};

describe('runs that came to nothing', () => {
  it('are counted beside many of another pool', async () => {
    await ended('busy', 600, 0);
    await ended('lazy', 6, 1_000, empty);
    expect(await found()).toEqual({ lazy: 6 });
  });

  it('are counted up to one that took some work, and past those that ended for another reason', async () => {
    await ended('lazy', 2, 0, empty);
    await ended('lazy', 1, 10, {}, 'operator');
    await ended('lazy', 3, 20, empty);
    await ended('lazy', 1, 30);
    await ended('lazy', 4, 40, empty);
    expect(await found()).toEqual({ lazy: 5 });
  });

  it('are counted past those that never had a process', async () => {
    await ended('lazy', 2, 0, empty);
    await ended('lazy', 1, 10, {}, 'drained', false);
    await ended('lazy', 3, 20, empty);
    expect(await found()).toEqual({ lazy: 5 });
  });

  it('say how the last of them has ended', async () => {
    await ended('lazy', 1, 0, { ...empty, empty_end: 'crashed' });
    await ended('lazy', 1, 5, { ...empty, empty_end: 'exited' });
    const rests = await service().rests(fixture.city.streamId, () => Promise.resolve(CONFIG));
    expect(rests.get('lazy')?.detail).toBe('its last 2 runs took none of the work that was there; the last one crashed');
  });

  it('count as long as the next one would be started from the same; the newest of a member also where each is started from something else', async () => {
    const tried = (hash: string, options: Record<string, string> | null): Promise<unknown> =>
      sql`update sessions set tried_hash = ${hash}, launch_options = ${JSON.stringify(options)}::jsonb, options = '{"model":"chosen later"}'
        where tried_hash is null and template <> 'before'`.execute(fixture.db);
    await ended('lazy', 2, 0, empty);
    await tried('new lazy large', { model: 'large' });
    await ended('lazy', 3, 10, empty);
    await tried('old lazy large', { model: 'large' });
    await ended('before', 1, 0, empty);
    expect(await found('old')).toEqual({ lazy: 3, before: 1 });
    expect(await found('new')).toEqual({ lazy: 2, before: 1 });
    expect(await found('newer')).toEqual({ before: 1 });
    expect(await found()).toEqual({ lazy: 5, before: 1 });
    const rests = (startsFrom: string, config?: CityConfig) =>
      service(startsFrom)
        .rests(fixture.city.streamId, () => Promise.resolve(config))
        .then((all) => all.get('lazy')?.detail);
    expect([await rests('new', CONFIG), await rests('newer', CONFIG), await rests('newer')]).toEqual([
      'its last 2 runs took none of the work that was there',
      undefined,
      'its last 5 runs took none of the work that was there',
    ]);
  });

  it('make one run of all members that were mended more than once, which no other change ends', async () => {
    await ended('lazy', 3, 0, empty);
    await sql`update sessions set tried_hash = 'v2 lazy '`.execute(fixture.db);
    await ended('lazy', 3, 10, empty);
    await sql`update sessions set tried_hash = 'v1 lazy ' where tried_hash is null`.execute(fixture.db);
    await sql`update sessions set agent_name = 'lazy-' || right(id, 1)`.execute(fixture.db);
    expect([await found('v3'), await found('v2')]).toEqual([{ lazy: 1 }, { lazy: 3 }]);
    const rests = async (startsFrom: string) =>
      (await service(startsFrom).rests(fixture.city.streamId, () => Promise.resolve(CONFIG))).get('lazy')?.ended_by;
    expect([await rests('v3'), await rests('v2')]).toEqual([
      ['time', 'work'],
      ['time', 'work', 'configuration'],
    ]);
  });

  it('are for what they say, of the release before for work of their pool, and forgotten after an hour', async () => {
    await ended('own', 2, 0, { empty_run: 'x', empty_for: 'member,minimum' });
    await ended('before', 2, 0, { empty_run: 'x' });
    await ended('long', 2, 3_600, empty);
    expect(await found()).toEqual({ 'own-1': 2, before: 2, 'idle own': 2 });
  });
});
