import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigFixture } from '../../../../test/support/config-fixture.js';
import type { Roster } from './roster.js';
import { RosterRepository } from './roster.repository.js';
import { RosterService } from './roster.service.js';

let fixture: ConfigFixture;
let roster: RosterService;

beforeEach(async () => {
  fixture = await ConfigFixture.open();
  roster = new RosterService(new RosterRepository(fixture.a.db));
});
afterEach(() => fixture.close());

describe('the roster of a city', () => {
  const named = (name: string, derivedPrefix: string): Roster => ({
    rigs: [
      { name: '', prefix: 'al', derivedPrefix: 'al', suspendedOnStart: false },
      { name, prefix: undefined, derivedPrefix, suspendedOnStart: false },
    ],
    agents: [{ name: `${name}/a`, base: 'a', rig: name, kind: 'agent', named: false }],
  });
  const record = (given: Roster): Promise<void> => fixture.a.transactions.run((tx) => roster.record(tx, fixture.city.streamId, given));
  /** Each row that is gone, with the transaction that wrote it. */
  const gone = (): Promise<unknown[]> =>
    fixture.sql(`select name, xmin::text from rigs where not present union all
      select name, xmin::text from agents where not present order by name`);

  it('leaves the rows of what is gone as they are, and a rig that comes back has its prefix', async () => {
    await record(named('first', 'fi'));
    await record(named('second', 'se'));
    const before = await gone();
    expect(before).toEqual(
      expect.arrayContaining([expect.objectContaining({ name: 'first' }), expect.objectContaining({ name: 'first/a' })]),
    );
    await record(named('third', 'th'));
    expect(await gone()).toEqual(expect.arrayContaining(before));
    expect(await roster.rigs(fixture.city.streamId)).toEqual([
      { name: '', prefix: 'al' },
      { name: 'third', prefix: 'th' },
    ]);
    await record(named('first', 'other'));
    expect(await roster.rigs(fixture.city.streamId)).toContainEqual({ name: 'first', prefix: 'fi' });
  });
});
