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

  it('writes nothing where rigs and agents are as they were', async () => {
    const written = (): Promise<unknown[]> =>
      fixture.sql('select name, xmin::text from rigs union all select name, xmin::text from agents order by name');
    await record(named('first', 'fi'));
    const before = await written();
    await record(named('first', 'fi'));
    expect(await written()).toEqual(before);
  });

  it('exchanges prefixes, and forgets the switches of what is gone and no other', async () => {
    const rig = (name: string, prefix: string): Roster['rigs'][number] => ({
      name,
      prefix,
      derivedPrefix: prefix,
      suspendedOnStart: false,
    });
    const agent = (name: string): Roster['agents'][number] => ({ name, base: name, rig: '', kind: 'agent', named: false });
    const { streamId } = fixture.city;
    await record({ rigs: [rig('', 'al'), rig('one', 'on'), rig('two', 'tw')], agents: [agent('a'), agent('b')] });
    await fixture.a.transactions.run(async (tx) => {
      for (const name of ['one', 'two']) await roster.switchRig(tx, streamId, name, true);
      for (const name of ['a', 'b']) await roster.switchAgent(tx, streamId, name, true);
    });
    await record({ rigs: [rig('', 'al'), rig('one', 'tw'), rig('three', 'on')], agents: [agent('b')] });
    expect(await roster.rigs(streamId)).toEqual([
      { name: '', prefix: 'al' },
      { name: 'one', prefix: 'tw' },
      { name: 'three', prefix: 'on' },
    ]);
    await record({ rigs: [rig('', 'al'), rig('one', 'tw'), rig('two', 'on')], agents: [agent('a'), agent('b')] });
    const { rigs, agents } = await roster.switches(streamId);
    expect([[...rigs], [...agents]]).toEqual([[['one', true]], [['b', true]]]);
  });
});
