import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { CITY_TOML, ConfigFixture } from '../../../../test/support/config-fixture.js';
import { admin } from '../../../../test/support/database.js';
import { ConfigEditsRepository } from './config-edits.repository.js';

let fixture: ConfigFixture;
let name: string;

beforeEach(async () => {
  fixture = await ConfigFixture.open();
  name = new URL(fixture.database.url).pathname.slice(1);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await allow(true);
  await fixture.close();
});

/** Lets nobody connect any more, or everybody again. */
async function allow(connections: boolean): Promise<void> {
  await admin(`alter database "${name}" with allow_connections ${connections}`);
  if (!connections) await admin('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
}

// Guard: taking back is tried again; otherwise nobody could change the city until the hold has ended by itself.
it.each(['config.before_write', 'config.after_write'] as const)(
  'an edit that loses the database at %s is taken back as soon as it is there again',
  async (place) => {
    const { a, b, city } = fixture;
    a.failpoints.arm(place, async () => {
      a.failpoints.disarm();
      await allow(false);
    });
    // What takes back asks this first.
    const { holderOf } = ConfigEditsRepository.prototype;
    let failures = 0;
    jest.spyOn(ConfigEditsRepository.prototype, 'holderOf').mockImplementation(async function (this: ConfigEditsRepository, ...about) {
      try {
        return await holderOf.apply(this, about);
      } catch (error) {
        if (++failures === 2) await allow(true);
        throw error;
      }
    });
    const failed = await a.setVariable(city, 'LOST').then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failed).toBeInstanceOf(Error);
    expect(failures).toBeGreaterThan(1);
    expect(await fixture.read()).toBe(CITY_TOML);
    await fixture.expectTidy();
    await b.setVariable(city, 'NEXT');
    expect(await fixture.variables()).toEqual(['NEXT']);
  },
);
