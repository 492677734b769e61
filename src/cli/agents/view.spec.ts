import { describe, expect, it } from '@jest/globals';
import { fakeIo } from '../testing/io.js';
import { addressOf } from './address.js';
import { agentDetails, agentTable, suspension } from './view.js';

const agent = {
  name: 'web/core.worker',
  running: false,
  suspended: false,
  pack_derived: true,
  pack: 'core',
  state: 'stopped',
  available: true,
};

describe('addressOf', () => {
  it('takes a name apart at its last slash', () => {
    expect(addressOf('mayor')).toEqual({ base: 'mayor' });
    expect(addressOf('web/core.worker')).toEqual({ dir: 'web', base: 'core.worker' });
    expect(addressOf('deep/er/worker')).toEqual({ dir: 'deep/er', base: 'worker' });
  });

  it.each(['', '.', '..', 'web/', '/x', '../x', 'web/..'])('refuses %p, which an address cannot hold', (name) => {
    expect(() => addressOf(name)).toThrow(/^not the name of (an agent|a rig): /);
  });
});

describe('suspension', () => {
  it.each([
    [{ suspended: false, suspended_declared: false, suspended_runtime: null }, 'no'],
    [{ suspended: true, suspended_declared: true, suspended_runtime: null }, 'yes, by the files'],
    [{ suspended: true, suspended_declared: false, suspended_runtime: true }, 'yes, suspended by hand (the files say no)'],
    [{ suspended: false, suspended_declared: true, suspended_runtime: false }, 'no, resumed by hand (the files say yes)'],
    [{ suspended: true, suspended_declared: true, suspended_runtime: true }, 'yes, suspended by hand'],
    [{ suspended: true }, 'yes'],
  ])('of %j is %s', (thing, text) => expect(suspension(thing)).toBe(text));
});

describe('agents', () => {
  it('are listed with what they are for, or why they cannot work', () => {
    const broken = { ...agent, name: 'mayor', available: false, unavailable_reason: 'no worker\nhas it', description: 'Leads' };
    expect(agentTable([{ ...agent, description: 'Works' }, broken], fakeIo())).toBe(
      'AGENT            STATE    PACK  NOTE\nweb/core.worker  stopped  core  Works\nmayor            stopped  core  no worker has it\n',
    );
  });

  it('are said to be idle once', () => {
    const idle = { ...agent, name: 'mayor', state: 'idle', activity: 'idle' as const, pack: '' };
    expect(agentTable([{ ...idle, description: 'Leads' }], fakeIo())).toBe('AGENT  STATE  NOTE\nmayor  idle   Leads\n');
    expect(agentTable([{ ...idle, state: 'working', activity: 'in-turn' }], fakeIo())).toContain('in-turn');
  });

  it('tell what rests, until when, why, and what ends it', () => {
    const rest = {
      reason: 'failed-create',
      ended_by: ['time' as const, 'configuration' as const, 'wake' as const],
      until: '2999-01-01T10:05:03Z',
      detail: 'no such\nfile',
      session_id: 'al-7',
    };
    const resting = agentTable([{ ...agent, rest }], fakeIo());
    expect(resting).toMatch(
      /rests until 10:05:03Z \(\d+d\d+h\), failed-create; ended by a changed configuration, svc session wake al-7: no such file\n$/,
    );
    const pool = { ...rest, reason: 'pool-failing', ended_by: ['time' as const, 'configuration' as const], session_id: undefined };
    expect(agentDetails({ ...agent, rest: pool })).toMatch(
      /^rests: +until \S+ \(\S+\), pool-failing; ended by a changed configuration: no such/m,
    );
  });

  it('tell what is known of a start that takes long', () => {
    const starting = { until: '2999-01-01T10:05:03Z', detail: 'it has printed "name?"\nso far' };
    const line = /starting,? +it has printed "name\?" so far; given up at 10:05:03Z \(\d+d\d+h\)$/m;
    expect(agentTable([{ ...agent, starting }], fakeIo())).toMatch(line);
    expect(agentDetails({ ...agent, starting }).replace('starting: ', 'starting')).toMatch(line);
    expect(agentDetails({ ...agent, starting: { until: starting.until } })).toMatch(/^starting: +given up at 10:05:03Z .* at the latest$/m);
  });

  it('are shown without what is not known', () => {
    expect(agentDetails(agent)).toBe('name:       web/core.worker\nstate:      stopped\nsuspended:  no\npack:       core\n');
  });
});
