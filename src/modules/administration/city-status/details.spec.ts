import { describe, expect, it } from '@jest/globals';
import type { AgentConfig, CityConfig } from '../../files/composition/city-config.js';
import type { StatusSession, StoreRow } from './city-status.repository.js';
import { agentCounts, agentDetails, DETAILS, namedDetails, rigDetails, storeHealth } from './details.js';

const agent = (qualified_name: string, more: object = {}): AgentConfig => {
  const dir = qualified_name.includes('/') ? qualified_name.split('/')[0]! : '';
  return {
    name: qualified_name.slice(dir.length && dir.length + 1),
    qualified_name,
    dir,
    binding: '',
    origin: 'inline',
    source: 'city.toml',
    ...more,
  };
};
const config = (...agents: AgentConfig[]): CityConfig => ({ agents }) as unknown as CityConfig;
const session = (name: string, more: Partial<StatusSession> = {}): StatusSession => ({
  ...{ name, agent: name, slot: null, live: true, state: 'active', session_name: `s-${name}` },
  ...more,
});

describe('the agents of a status', () => {
  it('are those of the configuration, members of pools in place, with what is true of each now', () => {
    const pool = agent('web/polecat', { min_active_sessions: 1, max_active_sessions: 2 });
    const sessions = [
      session('mayor', { state: 'draining' }),
      session('web/polecat-2', { agent: 'web/polecat', slot: 2, live: false, state: 'suspended' }),
    ];
    const { lines, more } = agentDetails(config(agent('mayor'), pool), sessions, () => undefined);
    const member = { scope: 'rig', expanded: true, group_name: 'web/polecat', scale_label: '1-2', running: false };
    expect(more).toBe(false);
    expect(lines).toEqual([
      { name: 'mayor', qualified_name: 'mayor', scope: 'city', running: true, suspended: false, draining: true, session_name: 's-mayor' },
      { name: 'polecat-1', qualified_name: 'web/polecat-1', suspended: false, ...member },
      { name: 'polecat-2', qualified_name: 'web/polecat-2', suspended: true, session_name: 's-web/polecat-2', ...member },
    ]);
  });

  it('are suspended with their rig or city', () => {
    const { lines } = agentDetails(config(agent('mayor'), agent('web/fox')), [], (_, rig) =>
      rig === 'web' ? 'rig web is suspended' : undefined,
    );
    expect(lines.map(({ suspended }) => suspended)).toEqual([false, true]);
  });

  it('end somewhere, however large a pool may be', () => {
    const { lines, more } = agentDetails(config(agent('ant', { max_active_sessions: 1e9 })), [], () => undefined);
    expect([lines.length, more]).toEqual([DETAILS, true]);
  });
});

describe('the numbers of agents of a status', () => {
  const pool = agent('web/polecat', { max_active_sessions: 4 });
  const member = (slot: number, more: Partial<StatusSession> = {}): StatusSession =>
    session(`web/polecat-${slot}`, { agent: 'web/polecat', slot, ...more });

  it('count each place of a pool, as the list of agents does', () => {
    const sessions = [session('mayor'), member(1), member(2), member(3, { live: false, state: 'quarantined' })];
    expect(agentCounts(config(agent('mayor'), pool), sessions, () => undefined)).toEqual({
      total: 5,
      running: 3,
      suspended: 0,
      quarantined: 1,
    });
  });

  it('count who may not run by a switch of their own, or of their rig', () => {
    const blocked = agentCounts(
      config(agent('mayor'), agent('fox'), pool),
      [member(1, { live: false, state: 'quarantined' }), session('fox', { live: false, state: 'suspended' })],
      (name, rig) => (name === 'mayor' || rig === 'web' ? 'suspended' : undefined),
    );
    expect(blocked).toEqual({ total: 6, running: 0, suspended: 6, quarantined: 0 });
  });
});

describe('what else a status shows one by one', () => {
  it('is rigs as they are switched, and named sessions with their states', () => {
    const rigs = [
      { name: 'web', path: 'web', suspended_on_start: true, imports: {} },
      { name: 'core', suspended_on_start: false, imports: {} },
    ];
    expect(rigDetails(rigs, { agents: new Map(), rigs: new Map([['web', false]]), city: false })).toEqual([
      { name: 'web', path: 'web', suspended: false },
      { name: 'core', path: '', suspended: false },
    ]);
    const named = ['deacon', 'web/witness'].map((qualified_name) => ({
      qualified_name,
      name: '',
      template: '',
      dir: '',
      mode: 'always' as const,
    }));
    expect(namedDetails(named, new Map([['deacon', 'asleep']]))).toEqual([
      { identity: 'deacon', mode: 'always', status: 'asleep' },
      { identity: 'web/witness', mode: 'always', status: 'reserved-unmaterialized' },
    ]);
  });
});

describe('the store of a status', () => {
  const GB = 1024 ** 3;
  const row: StoreRow = { ended_at: new Date(0), error: null, disk: 'ok', size_bytes: GB, live_rows: 1_000_000, warnings: 0 };

  it('is not there before anything was counted', () =>
    expect(storeHealth('/a', { ...row, size_bytes: null, live_rows: null })).toBeUndefined());

  it('has a warning when a cycle had one, the disk fills up, or much is kept in few rows', () => {
    expect(storeHealth('/a', row)).toMatchObject({
      ...{
        path: '/a',
        size_bytes: GB,
        live_rows: 1_000_000,
        warning: false,
        last_gc_status: 'done',
        last_gc_at: '1970-01-01T00:00:00.000Z',
      },
    });
    const warned: Partial<StoreRow>[] = [{ warnings: 1 }, { disk: 'warn' }, { live_rows: 1_000 }];
    for (const other of warned) expect(storeHealth('/a', { ...row, ...other })).toMatchObject({ warning: true });
    expect(storeHealth('/a', { ...row, live_rows: 0, size_bytes: 1024 })).toMatchObject({ warning: false });
    expect(storeHealth('/a', { ...row, error: 'it broke' })).toMatchObject({ last_gc_status: 'failed' });
  });
});
