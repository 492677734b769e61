import { describe, expect, it } from '@jest/globals';
import type { AgentConfig, CityConfig, ProviderSpec } from '../../files/composition/city-config.js';
import { resolveProviders } from '../../files/composition/presets/resolve.js';
import { plain, tableOf } from '../../files/composition/tree.js';
import { presetBehind } from './agent-provider.js';
import type { AgentSession } from './agents.repository.js';
import { toAgent, type Present } from './agents.mapper.js';
import { AgentResponse, type AgentRest } from './agents.schemas.js';

const PROVIDERS: Record<string, ProviderSpec> = {
  loopback: {},
  team: { base: 'builtin:claude' },
  crew: { base: 'team', args_append: ['-v'] },
  codex: { base: 'provider:crew' },
  own: { base: 'builtin:claude', command: 'our-claude' },
  alone: { base: '', command: 'claude' },
  claude: { ready_delay_ms: 1 },
};

function configOf(workspace: object = {}): CityConfig {
  const resolved = plain(resolveProviders(tableOf(PROVIDERS, { file: 'city.toml' }), []));
  return { workspace, providers: PROVIDERS, resolved_providers: resolved, agents: [], rigs: [] } as unknown as CityConfig;
}

const nothing: Present = {
  citySuspended: false,
  suspendedRigs: new Set(),
  switches: new Map(),
  activeBeads: new Map(),
  unready: new Map([['claude', 'needs_auth']]),
  sessions: new Map(),
  byAgent: new Map(),
  poolRests: new Map(),
};

function shown(more: Partial<AgentConfig>, workspace: object = {}, present: Partial<Present> = {}): AgentResponse {
  const agent: AgentConfig = { name: 'a', qualified_name: 'web/a', dir: 'web', binding: '', origin: 'folder', source: 'agents/a', ...more };
  return AgentResponse.parse(toAgent(configOf(workspace), { name: 'web/a', agent }, { ...nothing, ...present }));
}

describe('why nobody is started for a member', () => {
  const rest = (reason: string): AgentRest => ({ reason, ended_by: ['time'] });

  it('is what its pool rests for, else what it rests for itself', () => {
    const poolRests = new Map([['web/a-1', rest('empty-runs')]]);
    const agent = { name: 'a', qualified_name: 'web/a', dir: 'web', binding: '', origin: 'folder', source: 'x' } as AgentConfig;
    const member = (name: string, rests: Present['poolRests']): string | undefined =>
      toAgent(configOf({}), { name, agent, pool: 'web/a' }, { ...nothing, poolRests: rests }).rest?.reason;
    expect([member('web/a-1', poolRests), member('web/a-2', poolRests)]).toEqual(['empty-runs', undefined]);
    expect(member('web/a-1', new Map([...poolRests, ['web/a', rest('pool-failing')]]))).toBe('pool-failing');
  });
});

describe('why an agent cannot be started', () => {
  it.each<[string, Partial<AgentConfig>, object, Partial<Present>, string | undefined]>([
    ['nothing', { provider: 'loopback' }, {}, {}, undefined],
    [
      'its switch, before everything else',
      { provider: 'team' },
      {},
      { switches: new Map([['web/a', true]]), citySuspended: true },
      'agent is suspended',
    ],
    ['its file', { provider: 'loopback', suspended: true }, {}, {}, 'agent is suspended'],
    [
      'nothing, when the switch says otherwise',
      { provider: 'loopback', suspended: true },
      {},
      { switches: new Map([['web/a', false]]) },
      undefined,
    ],
    ['its rig', { provider: 'loopback' }, {}, { suspendedRigs: new Set(['web']), citySuspended: true }, 'rig web is suspended'],
    ['nothing of another rig', { provider: 'loopback' }, {}, { suspendedRigs: new Set(['docs', '']) }, undefined],
    ['its city', { provider: 'loopback' }, {}, { citySuspended: true }, 'city is suspended'],
    ['no provider', {}, {}, {}, 'no provider is configured'],
    ['nothing, with a command instead', { start_command: 'x' }, {}, {}, undefined],
    ['nothing, with the city’s command', {}, { start_command: 'x' }, {}, undefined],
    ['the provider of the city', {}, { provider: 'team' }, {}, 'provider team is not ready: needs_auth'],
    ['nothing of a provider that its command stands for', { provider: 'team', start_command: 'x' }, {}, {}, undefined],
    ['a provider that nobody knows', { provider: 'gone' }, {}, {}, 'provider gone not found'],
    ['the preset behind', { provider: 'codex' }, {}, {}, 'provider codex is not ready: needs_auth'],
    ['nothing known of another program', { provider: 'own' }, {}, {}, undefined],
  ])('%s', (_, agent, workspace, present, reason) => {
    const answer = shown(agent, workspace, present);
    expect([answer.available, answer.unavailable_reason]).toEqual([reason === undefined, reason]);
    expect(answer.state).toBe(answer.suspended ? 'suspended' : 'stopped');
  });

  it('is asked of the program that is started', () => {
    const found = ['loopback', 'team', 'crew', 'codex', 'own', 'alone', 'claude', 'gemini', 'gone', '__proto__'].map((name) =>
      presetBehind(configOf(), name),
    );
    expect(found).toEqual(['loopback', 'claude', 'claude', 'claude', undefined, undefined, 'claude', 'gemini', undefined, undefined]);
  });
});

it('shows what is declared and what is switched', () => {
  expect(
    shown(
      { provider: 'team', suspended: true, description: 'x', pack: 'p', origin: 'pack' },
      {},
      { activeBeads: new Map([['web/a', 'al-1']]), switches: new Map([['web/a', false]]) },
    ),
  ).toEqual({
    name: 'web/a',
    running: false,
    suspended: false,
    suspended_declared: true,
    suspended_runtime: false,
    pack_derived: true,
    state: 'stopped',
    available: false,
    unavailable_reason: 'provider team is not ready: needs_auth',
    description: 'x',
    provider: 'team',
    display_name: 'Claude Code',
    rig: 'web',
    pack: 'p',
    active_bead: 'al-1',
  });
});

describe('an agent with a session', () => {
  const now = new Date('2026-01-01T12:00:00Z');
  const session: AgentSession = {
    name: 'web/a',
    agent: 'web/a',
    slot: null,
    id: 'al-1',
    session_name: 's-al-1',
    state: 'active',
    state_at: now,
    reason: null,
    origin: 'manual',
    runner_id: 'r',
    ready_at: now,
    wake_request: null,
    failed_starts: 0,
    churns: 0,
    not_before: null,
    quarantined_until: null,
    circuit_until: null,
    failure: null,
    start_deadline: null,
    live: true,
    in_turn: false,
    pending: false,
    active_bead: null,
    last_turn_at: new Date(now.getTime() - 60_000),
    model: null,
    context_used: 50,
    context_window: 200,
    output: 'done',
    now,
  };
  const stateOf = (more: Partial<AgentSession>, present: Partial<Present> = {}): string =>
    shown({}, {}, { ...present, sessions: new Map([['web/a', { ...session, ...more }]]) }).state;

  it.each([
    [{ live: false, state: 'asleep' }, 'stopped'],
    [{ live: false, state: 'quarantined' }, 'quarantined'],
    [{}, 'idle'],
    [{ in_turn: true }, 'working'],
    [{ active_bead: 'al-9' }, 'working'],
    [{ active_bead: 'al-9', last_turn_at: new Date(now.getTime() - 600_000) }, 'waiting'],
    [{ active_bead: 'al-9', last_turn_at: null, in_turn: true }, 'working'],
    [{ active_bead: 'al-9', last_turn_at: null }, 'waiting'],
    [{ pending: true, in_turn: true }, 'waiting'],
  ] as const)('%j is %s', (more, state) => expect(stateOf(more)).toBe(state));

  it('is suspended before anything else, and running all the same', () => {
    const sessions = new Map([['web/a', session]]);
    expect(shown({}, {}, { sessions, switches: new Map([['web/a', true]]) })).toMatchObject({ state: 'suspended', running: true });
  });

  it('shows what is known of it', () =>
    expect(shown({}, {}, { sessions: new Map([['web/a', session]]) })).toMatchObject({
      running: true,
      activity: 'idle',
      context_pct: 25,
      context_window: 200,
      last_output: 'done',
      session: { name: 's-al-1', attached: false, last_activity: '2026-01-01T11:59:00.000Z' },
    }));
});
