import { parseDuration } from '../../../contract/duration.js';
import type { AgentConfig, CityConfig, RigConfig } from '../../files/composition/city-config.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** What a city's files say about keeping sessions, with the documented defaults. Times are milliseconds. */
export interface PoolSettings {
  /** `[daemon] patrol_interval`: how often a city with sessions is looked at when nothing happens. */
  readonly patrolMs: number;
  /** `[daemon] max_wakes_per_tick`: starts in one pass. */
  readonly startsAPass: number;
  /** `[daemon] drift_drain_timeout` */
  readonly driftDrainMs: number;
  /** `[daemon] auto_restart_on_drift` */
  readonly restartOnDrift: boolean;
  /** `[daemon] session_circuit_breaker` */
  readonly circuitBreaker: boolean;
  /** `[session] progress_stall_timeout`; undefined: off. */
  readonly stallMs: number | undefined;
  /** `[session] claim_holder_stall_timeout`; undefined: off. */
  readonly holderStallMs: number | undefined;
  /** `[workspace] max_active_sessions`; undefined: no limit. */
  readonly maxSessions: number | undefined;
  /** Limits of rigs that have one. */
  readonly maxOfRig: ReadonlyMap<string, number>;
  /** How long a session of a pool may have nothing to do before it is drained. */
  readonly graceMs: number;
}

/** `[daemon] session_circuit_breaker_*`: what keeps a named session from being started again and again for nothing. */
export interface BreakerSettings {
  /** So many restarts in the window are borne. */
  readonly maxRestarts: number;
  readonly windowMs: number;
  /** How long an open circuit stays open by itself. */
  readonly resetMs: number;
}

/** The same for one agent. */
export interface AgentSettings {
  /** undefined: no limit. */
  readonly max: number | undefined;
  readonly min: number;
  readonly drainMs: number;
  /** undefined: it does not sleep for idleness. */
  readonly idleMs: number | undefined;
  readonly maxAgeMs: number | undefined;
  readonly maxAgeJitterMs: number;
  /** Patrols for which assigned work may put off the end of a session that is too old; 0: for ever. */
  readonly deferLimit: number;
  readonly oneShot: boolean;
  readonly scaleCheck: string | undefined;
  readonly nudge: string | undefined;
}

const DEFAULT_IDLE_MS = 5 * MINUTE;

export function poolSettings(config: CityConfig): PoolSettings {
  const daemon = tableOf(config.daemon);
  const session = tableOf(config.session);
  return {
    patrolMs: Math.max(SECOND, durationOf(daemon.patrol_interval) ?? 30 * SECOND),
    startsAPass: Math.max(1, countOf(daemon.max_wakes_per_tick) ?? 5),
    driftDrainMs: durationOf(daemon.drift_drain_timeout) ?? 2 * MINUTE,
    restartOnDrift: daemon.auto_restart_on_drift !== false,
    circuitBreaker: daemon.session_circuit_breaker === true,
    stallMs: onlyPositive(durationOf(session.progress_stall_timeout)),
    holderStallMs: atLeast(durationOf(session.claim_holder_stall_timeout), 5 * MINUTE),
    maxSessions: limitOf(config.workspace.max_active_sessions),
    maxOfRig: new Map(
      config.rigs.flatMap((rig) => {
        const limit = limitOf(rig.max_active_sessions);
        return limit === undefined ? [] : [[rig.name, limit] as const];
      }),
    ),
    graceMs: 30 * SECOND,
  };
}

/** undefined: it is off, as it is unless a city wants it. */
export function breakerSettings(config: CityConfig): BreakerSettings | undefined {
  const daemon = tableOf(config.daemon);
  if (daemon.session_circuit_breaker !== true) return undefined;
  const windowMs = onlyPositive(durationOf(daemon.session_circuit_breaker_window)) ?? 60 * MINUTE;
  return {
    maxRestarts: countOf(daemon.session_circuit_breaker_max_restarts) || 5,
    windowMs,
    resetMs: onlyPositive(durationOf(daemon.session_circuit_breaker_reset_after)) ?? 2 * windowMs,
  };
}

/** `named` is for a session of a `[[named_session]]`: one that always runs never sleeps for idleness. */
export function agentSettings(config: CityConfig, agent: AgentConfig, named?: 'on_demand' | 'always'): AgentSettings {
  return {
    max: limitOf(agent.max_active_sessions),
    min: Math.max(0, countOf(agent.min_active_sessions) ?? 0),
    drainMs: durationOf(agent.drain_timeout) ?? 5 * MINUTE,
    idleMs: named === 'always' ? undefined : idleOf(config, agent, named),
    maxAgeMs: onlyPositive(durationOf(agent.max_session_age)),
    maxAgeJitterMs: durationOf(agent.max_session_age_jitter) ?? 0,
    deferLimit: countOf(agent.assigned_work_defer_limit) ?? 0,
    oneShot: agent.lifecycle === 'one_shot',
    scaleCheck: textOf(agent.scale_check),
    nudge: textOf(agent.nudge),
  };
}

/** The class of `[session_sleep]`: agents that nobody attaches to, those that go on with their conversation, all others. */
function sleepClass(agent: AgentConfig | undefined): 'noninteractive' | 'interactive_resume' | 'interactive_fresh' {
  if (agent === undefined) return 'interactive_resume';
  if (agent.attach === false) return 'noninteractive';
  return agent.wake_mode === 'fresh' ? 'interactive_fresh' : 'interactive_resume';
}

/**
 * When an idle session sleeps: `sleep_after_idle` of the agent, its `idle_timeout`, the class in the rig's and the city's
 * `[session_sleep]`; a named session on demand after five minutes. Others do not sleep by themselves.
 */
function idleOf(config: CityConfig, agent: AgentConfig, named: 'on_demand' | undefined): number | undefined {
  if (agent.sleep_after_idle === 'off') return undefined;
  const kind = sleepClass(agent);
  const rig = rigNamed(config, agent.dir);
  const said =
    durationOf(agent.sleep_after_idle) ??
    durationOf(agent.idle_timeout) ??
    durationOf(tableOf(rig?.session_sleep)[kind]) ??
    durationOf(tableOf(config.session_sleep)[kind]);
  return said === undefined ? (named === 'on_demand' ? DEFAULT_IDLE_MS : undefined) : onlyPositive(said);
}

const rigsByName = new WeakMap<readonly RigConfig[], ReadonlyMap<string, RigConfig>>();

/** A look at the pools asks for the rig of each of thousands of agents and named sessions. */
function rigNamed({ rigs }: CityConfig, name: string): RigConfig | undefined {
  let byName = rigsByName.get(rigs);
  if (byName === undefined) rigsByName.set(rigs, (byName = new Map(rigs.map((rig) => [rig.name, rig]))));
  return byName.get(name);
}

/** The same for a bare provider's session. */
export function providerIdleMs(config: CityConfig): number | undefined {
  const said = durationOf(tableOf(config.session_sleep)[sleepClass(undefined)]) ?? durationOf(tableOf(config.chat_sessions).idle_timeout);
  return onlyPositive(said);
}

/** A part of 0 to 1 that belongs to a text for ever, so that replicas agree on it. */
export function share(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

function tableOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function durationOf(value: unknown): number | undefined {
  return typeof value === 'string' && value !== '' ? parseDuration(value) : undefined;
}

function onlyPositive(ms: number | undefined): number | undefined {
  return ms !== undefined && ms > 0 ? ms : undefined;
}

/** Below its floor a time does not count. */
function atLeast(ms: number | undefined, floor: number): number | undefined {
  return ms !== undefined && ms >= floor ? ms : undefined;
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** -1 and absent: no limit. */
function limitOf(value: unknown): number | undefined {
  return countOf(value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
