import type { PoolAgent, PoolFacts, PoolNamed, PoolSession } from '../pool-facts.js';
import { agentSettings, poolSettings, type AgentSettings } from '../../../sessions/session-store/settings.js';
import type { AgentConfig, CityConfig } from '../../../files/composition/city-config.js';

export const NOW = 1_800_000_000_000;
const BARE = { workspace: {}, rigs: [] } as unknown as CityConfig;
export const SETTINGS = poolSettings(BARE);

export function agentOf(name: string, settings: Partial<AgentSettings> = {}, more: Partial<PoolAgent> = {}): PoolAgent {
  const base = { qualified_name: name, dir: '' } as unknown as AgentConfig;
  return {
    name,
    rig: name.includes('/') ? name.slice(0, name.indexOf('/')) : '',
    settings: { ...agentSettings(BARE, base), ...settings },
    needs: [],
    member: (slot) => `${name}-${slot}`,
    slotOf: (text) => (text.startsWith(`${name}-`) ? Number(text.slice(name.length + 1)) || undefined : undefined),
    startable: () => true,
    ...more,
  };
}

export function namedOf(identity: string, mode: 'on_demand' | 'always', agent: string): PoolNamed {
  const settings = agentSettings(BARE, { qualified_name: agent, dir: '' } as unknown as AgentConfig, mode);
  return { identity, mode, agent, settings };
}

let pks = 0;
/** An idle session of a pool with a process, unless said otherwise. */
export function sessionOf(more: Partial<PoolSession> = {}): PoolSession {
  const pk = more.pk ?? ++pks;
  const agent = more.agent === undefined ? 'worker' : more.agent;
  const asleep = more.state !== undefined && more.state !== 'active' && more.state !== 'draining' && more.state !== 'creating';
  return {
    pk,
    id: `al-${pk}`,
    origin: 'pool',
    agent,
    agentName: agent === null ? null : `${agent}-${pk}`,
    slot: pk,
    rig: '',
    identity: null,
    sessionName: `s-al-${pk}`,
    alias: '',
    state: 'active',
    stateAt: NOW - 600_000,
    reason: null,
    generation: 1,
    hasRunner: !asleep,
    runnerGone: false,
    live: !asleep && more.state !== 'creating',
    inTurn: false,
    activityAt: NOW - 1_000,
    outputAt: undefined,
    readyAt: NOW - 500_000,
    wokeAt: NOW - 600_000,
    wake: null,
    stop: null,
    stopReason: null,
    stopAt: undefined,
    startDeadline: undefined,
    notBefore: undefined,
    heldUntil: undefined,
    quarantinedUntil: undefined,
    mended: false,
    churns: 0,
    asks: false,
    messages: 0,
    held: [],
    everHeld: false,
    waits: false,
    pinned: false,
    drainedItself: false,
    drifted: false,
    acceptedHash: null,
    nudges: {},
    nudged: {},
    toldStranded: false,
    toldResetStalled: false,
    ...more,
  };
}

export function factsWith(more: Partial<PoolFacts> = {}): PoolFacts {
  return {
    now: NOW,
    city: 'running',
    settings: SETTINGS,
    agents: [agentOf('worker')],
    poolsOf: (name) => [name.slice(0, Math.max(0, name.lastIndexOf('-')))],
    named: [],
    providerIdleMs: undefined,
    blocked: () => undefined,
    sessions: [],
    offered: new Map(),
    assigned: new Map(),
    scale: new Map(),
    emptyRuns: new Map(),
    idleRuns: new Map(),
    ...more,
  };
}

/** `n` beads that have waited for a while, the oldest first. */
export function beads(n: number, at = NOW - 60_000): { id: string; at: number }[] {
  return Array.from({ length: n }, (_, i) => ({ id: `b-${i + 1}`, at: at + i }));
}
