import { describe, expect, it } from '@jest/globals';
import type { AgentConfig, CityConfig } from '../../files/composition/city-config.js';
import { agentSettings, breakerSettings, poolSettings, providerIdleMs, share } from './settings.js';

const config = (more: object = {}): CityConfig => ({ workspace: {}, rigs: [], ...more }) as unknown as CityConfig;
const agent = (more: object = {}): AgentConfig => ({ name: 'a', qualified_name: 'a', dir: '', ...more }) as unknown as AgentConfig;

describe('settings', () => {
  it('have the documented defaults', () => {
    expect(poolSettings(config())).toMatchObject({
      patrolMs: 30_000,
      startsAPass: 5,
      driftDrainMs: 120_000,
      restartOnDrift: true,
      stallMs: undefined,
      holderStallMs: undefined,
      maxSessions: undefined,
    });
    expect(agentSettings(config(), agent())).toMatchObject({
      max: undefined,
      min: 0,
      drainMs: 300_000,
      idleMs: undefined,
      maxAgeMs: undefined,
    });
  });

  it('are what the files say', () => {
    const daemon = { patrol_interval: '1m', max_wakes_per_tick: 2, drift_drain_timeout: '10s', auto_restart_on_drift: false };
    const session = { progress_stall_timeout: '2m', claim_holder_stall_timeout: '10m' };
    const rigs = [
      { name: 'web', max_active_sessions: 3 },
      { name: 'core', max_active_sessions: -1 },
    ];
    const said = poolSettings(config({ daemon, session, workspace: { max_active_sessions: 9 }, rigs }));
    expect(said).toMatchObject({ patrolMs: 60_000, startsAPass: 2, driftDrainMs: 10_000, restartOnDrift: false, stallMs: 120_000 });
    expect(said).toMatchObject({ holderStallMs: 600_000, maxSessions: 9, maxOfRig: new Map([['web', 3]]) });
  });

  it.each<[object, ReturnType<typeof breakerSettings>]>([
    [{}, undefined],
    [{ session_circuit_breaker: false, session_circuit_breaker_max_restarts: 3 }, undefined],
    [{ session_circuit_breaker: true }, { maxRestarts: 5, windowMs: 3_600_000, resetMs: 7_200_000 }],
    [
      { session_circuit_breaker: true, session_circuit_breaker_max_restarts: 2, session_circuit_breaker_window: '10m' },
      { maxRestarts: 2, windowMs: 600_000, resetMs: 1_200_000 },
    ],
    [
      { session_circuit_breaker: true, session_circuit_breaker_max_restarts: 0, session_circuit_breaker_reset_after: '1m' },
      { maxRestarts: 5, windowMs: 3_600_000, resetMs: 60_000 },
    ],
  ])('a circuit breaker, off unless it is asked for: %j', (daemon, settings) => {
    expect(breakerSettings(config({ daemon }))).toEqual(settings);
    expect(poolSettings(config({ daemon })).circuitBreaker).toBe(settings !== undefined);
  });

  it.each([
    [{ claim_holder_stall_timeout: '1m' }, undefined],
    [{ claim_holder_stall_timeout: '5m' }, 300_000],
    [{ progress_stall_timeout: '0s' }, undefined],
  ])('a floor holds: %j', (session, ms) => expect(poolSettings(config({ session })).holderStallMs).toBe(ms));

  it.each([
    [{ max_active_sessions: -1 }, undefined],
    [{ max_active_sessions: 0 }, 0],
    [{ max_active_sessions: 4 }, 4],
  ])('a limit: %j', (more, max) => expect(agentSettings(config(), agent(more)).max).toBe(max));

  it.each([
    ['nothing said', {}, {}, undefined, undefined],
    ['a named session on demand', {}, {}, 'on_demand', 300_000],
    ['a named session that always runs', { idle_timeout: '1m' }, {}, 'always', undefined],
    ['its own time', { idle_timeout: '1m' }, {}, undefined, 60_000],
    ['a narrower time', { idle_timeout: '1m', sleep_after_idle: '2m' }, {}, undefined, 120_000],
    ['off', { idle_timeout: '1m', sleep_after_idle: 'off' }, {}, 'on_demand', undefined],
    ['the class of the city', {}, { session_sleep: { interactive_resume: '3m' } }, undefined, 180_000],
    ['the class of those that begin anew', { wake_mode: 'fresh' }, { session_sleep: { interactive_fresh: '4m' } }, undefined, 240_000],
    ['the class of those that nobody attaches to', { attach: false }, { session_sleep: { noninteractive: '5m' } }, undefined, 300_000],
    [
      'the rig before the city',
      { dir: 'web' },
      { session_sleep: { interactive_resume: '3m' }, rigs: [{ name: 'web', session_sleep: { interactive_resume: '1m' } }] },
      undefined,
      60_000,
    ],
  ] as const)('when an idle session sleeps: %s', (_, more, city, named, ms) => {
    expect(agentSettings(config(city), agent(more), named).idleMs).toBe(ms);
  });

  it('of bare providers', () => {
    expect(providerIdleMs(config())).toBeUndefined();
    expect(providerIdleMs(config({ chat_sessions: { idle_timeout: '20m' } }))).toBe(1_200_000);
  });

  it('a share is the same everywhere, and spread', () => {
    const shares = Array.from({ length: 200 }, (_, i) => share(`al-${i}.1`));
    expect(shares.every((one) => one >= 0 && one < 1)).toBe(true);
    expect(shares).toEqual(Array.from({ length: 200 }, (_, i) => share(`al-${i}.1`)));
    for (let tenth = 0; tenth < 10; tenth++) expect(shares.filter((one) => Math.floor(one * 10) === tenth).length).toBeGreaterThan(3);
  });
});
