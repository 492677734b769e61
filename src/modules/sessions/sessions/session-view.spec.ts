import { describe, expect, it } from '@jest/globals';
import type { Template } from '../launch/launch.js';
import { toSessionResponse, type SessionView } from './session-view.js';

const at = (seconds: number): Date => new Date(1_700_000_000_000 + seconds * 1000);
const view = (more: Partial<SessionView> = {}): SessionView =>
  ({
    pk: 1,
    id: 'al-1',
    session_name: 's-al-1',
    alias: '',
    title: 't',
    kind: 'agent',
    template: 'web/polecat',
    agent: 'web/polecat',
    rig: 'web',
    provider: 'loopback',
    origin: 'manual',
    named_identity: null,
    state: 'active',
    reason: null,
    live: true,
    runner_id: 'r',
    stop_request: null,
    held_until: null,
    quarantined_until: null,
    restarts: [],
    circuit_until: null,
    not_before: null,
    failure: null,
    state_at: at(0),
    reset_pending: false,
    options: {},
    capabilities: {},
    metadata: {},
    work_dir: null,
    created_at: at(0),
    last_turn_at: null,
    activity: 'idle',
    model: null,
    context_used: null,
    context_window: null,
    active_bead: null,
    nudged_at: null,
    output: null,
    now: at(100),
    ...more,
  }) as SessionView;
const template = (more: Partial<Template> = {}): Template =>
  ({ isPool: false, optionDefaults: {}, spec: { display_name: 'Loopback' }, ...more }) as Template;

describe('the state that is shown', () => {
  it.each<[Partial<SessionView>, string, boolean]>([
    [{}, 'active', true],
    [{ live: false }, 'asleep', false],
    [{ state: 'draining' }, 'draining', true],
    [{ state: 'closed', live: false }, 'closed', false],
    [{ state: 'suspended', live: false }, 'suspended', false],
  ])('%j is %s', (row, state, running) => {
    expect(toSessionResponse(view(row), undefined)).toMatchObject({ state, running, attached: false });
    expect(toSessionResponse(view(row), undefined).activity).toBe(running ? 'idle' : undefined);
  });
});

describe('the reason', () => {
  const asleep = { state: 'asleep', live: false, runner_id: null } as const;
  it.each<[string, Partial<SessionView>, string | undefined]>([
    ['none while it is simply active', { reason: 'crashed' }, undefined],
    ['a reset before everything', { reset_pending: true, reason: 'idle' }, 'reset-pending'],
    ['a reset that is only asked for', { stop_request: 'reset' }, 'reset-pending'],
    ['a reset without an old process is none', { ...asleep, reset_pending: true, reason: 'idle' }, 'idle'],
    ['why it sleeps', { ...asleep, reason: 'idle' }, 'idle'],
    ['a quarantine that lasts', { ...asleep, state: 'quarantined', reason: 'quarantine', quarantined_until: at(200) }, 'quarantine'],
    ['a quarantine that is over', { ...asleep, reason: 'quarantine', quarantined_until: at(50) }, undefined],
    ['a rate limit that is over', { ...asleep, reason: 'rate_limit', not_before: at(50) }, undefined],
    ['another reason outlives a hold', { ...asleep, reason: 'idle', held_until: at(50) }, 'idle'],
    ['a hold without another reason', { ...asleep, held_until: at(200) }, 'user-hold'],
    ['a quarantine without another reason', { ...asleep, quarantined_until: at(200), held_until: at(200) }, 'quarantine'],
    ['an open circuit before why it sleeps', { ...asleep, reason: 'user-hold', circuit_until: at(200) }, 'circuit-open'],
    ['a circuit that is closed again', { ...asleep, reason: 'circuit-open', quarantined_until: at(50), circuit_until: at(50) }, undefined],
    ['none after the end', { state: 'closed', live: false, reason: 'operator' }, undefined],
  ])('%s', (_what, row, reason) => {
    expect(toSessionResponse(view(row), undefined).reason).toBe(reason);
  });
});

describe('other members', () => {
  it('the circuit breaker, once it has counted something', () => {
    const circuit = (row: Partial<SessionView>): unknown => toSessionResponse(view(row), undefined).circuit;
    expect(circuit({})).toBeUndefined();
    expect(circuit({ restarts: [at(1)], circuit_until: at(50) })).toEqual({ restarts: 1 });
    expect(circuit({ restarts: [at(1), at(2)], circuit_until: at(200) })).toEqual({ restarts: 2, open_until: at(200).toISOString() });
  });

  it('defaults with what was chosen over them', () => {
    const options = { effort: 'low' };
    expect(toSessionResponse(view({ options }), template({ optionDefaults: { effort: 'max', model: 'm' } })).options).toEqual({
      effort: 'low',
      model: 'm',
    });
    expect(toSessionResponse(view(), undefined).options).toBeUndefined();
  });

  it('only metadata that is for clients', () => {
    const metadata = {
      real_world_app_project_id: 'p',
      real_world_app_session_kind: 'k',
      template_overrides: '{}',
      secret: 's',
      opt_model: 'm',
    };
    expect(toSessionResponse(view({ metadata }), undefined).metadata).toEqual({ real_world_app_project_id: 'p', template_overrides: '{}' });
    expect(toSessionResponse(view({ metadata: { secret: 's' } }), undefined)).not.toHaveProperty('metadata');
  });

  it.each<[Partial<SessionView>, Partial<Template> | undefined, string | undefined, string | undefined]>([
    [{}, { isPool: false }, 'role', undefined],
    [{}, { isPool: true }, 'pool', 'polecat'],
    [{ origin: 'pool' }, undefined, 'pool', 'polecat'],
    [{ template: 'web/crew/anna' }, undefined, 'crew', undefined],
    [{ kind: 'provider', template: 'loopback' }, { isPool: true }, undefined, undefined],
  ])('%j of %j is %s', (row, of, agent_kind, pool) => {
    const body = toSessionResponse(view(row), of === undefined ? undefined : template(of));
    expect([body.agent_kind, body.pool]).toEqual([agent_kind, pool]);
  });

  it('the context in percent, and the last lines of what was said', () => {
    expect(toSessionResponse(view({ context_used: 333, context_window: 1000 }), undefined)).toMatchObject({
      context_pct: 33,
      context_window: 1000,
    });
    expect(toSessionResponse(view({ context_used: 1 }), undefined)).not.toHaveProperty('context_pct');
    const output = 'a\nb\nc\n';
    expect(toSessionResponse(view({ output }), undefined, 2).last_output).toBe('b\nc');
    expect(toSessionResponse(view({ output }), undefined, 0)).not.toHaveProperty('last_output');
    expect(toSessionResponse(view({ output }), undefined)).not.toHaveProperty('last_output');
  });
});

describe('the rest', () => {
  const down = { state: 'asleep', live: false, runner_id: null, failed_starts: 0 } as const;
  const rest = (row: Partial<SessionView>): unknown => toSessionResponse(view({ ...down, ...row }), undefined).rest;
  const until = (seconds: number): string => at(seconds).toISOString();

  it.each<[string, Partial<SessionView>, unknown]>([
    [
      'of a member that could not be started',
      { state: 'failed-create', origin: 'pool', reason: 'failed-create', failure: 'no such file' },
      { reason: 'failed-create', ended_by: ['time', 'configuration', 'wake'], until: until(300), detail: 'no such file' },
    ],
    [
      'of another session',
      { state: 'failed-create', reason: 'failed-create' },
      { reason: 'failed-create', ended_by: ['demand', 'configuration', 'wake'], until: until(300) },
    ],
    [
      'that a person ends',
      { state: 'failed-create', reason: 'auth-required' },
      { reason: 'auth-required', ended_by: ['configuration', 'wake'] },
    ],
    [
      'after crashes',
      { state: 'quarantined', reason: 'quarantine', quarantined_until: at(200) },
      { reason: 'quarantine', ended_by: ['time', 'configuration', 'wake'], until: until(200) },
    ],
    [
      'of an open circuit',
      { state: 'quarantined', reason: 'circuit-open', quarantined_until: at(200), circuit_until: at(200) },
      { reason: 'circuit-open', ended_by: ['time', 'configuration', 'reset'], until: until(200) },
    ],
    [
      'before the next try',
      { reason: 'crashed', not_before: at(101), failed_starts: 2 },
      { reason: 'crashed', ended_by: ['time', 'configuration', 'wake'], until: until(101), attempt: 2, attempts: 5 },
    ],
    ['that is over', { reason: 'crashed', not_before: at(100) }, undefined],
    ['of one that just sleeps', { reason: 'idle' }, undefined],
    ['of one that a runner has', { state: 'failed-create', runner_id: 'r' }, undefined],
  ])('%s', (_what, row, expected) => expect(rest(row)).toEqual(expected));
});
