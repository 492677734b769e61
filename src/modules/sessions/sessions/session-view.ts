import type { SessionResponse } from '../../../contract/sessions.schemas.js';
import type { Template } from '../launch/launch.js';
import { hasOpenCircuit } from '../session-store/open-circuit.js';
import { restOf, startOf } from '../session-store/session-rest.js';
import type { SessionRow } from '../session-store/session-row.js';

/** A session as answers need it, of one snapshot. */
export type SessionView = Omit<SessionRow, 'stderr_tail' | 'launch_options' | 'accepted_hash' | 'tried_hash'> & {
  readonly activity: 'idle' | 'in-turn';
  readonly model: string | null;
  readonly context_used: number | null;
  readonly context_window: number | null;
  /** The bead that it works on. */
  readonly active_bead: string | null;
  readonly nudged_at: Date | null;
  /** Text of its last entries, oldest first, where it was asked for. */
  readonly output: string | null;
  /** The database's clock in the same snapshot. */
  readonly now: Date;
};

/** What of a template is told. */
export type ShownTemplate = Pick<Template, 'optionDefaults' | 'isPool'> & {
  readonly spec: Pick<Template['spec'], 'display_name'>;
  readonly agent?: Pick<NonNullable<Template['agent']>, 'dir'> | undefined;
};

const METADATA = 'real_world_app_';
const HIDDEN = 'real_world_app_session_kind';
const SHOWN = 'template_overrides';
const TIMED = new Set(['quarantine', 'circuit-open', 'rate_limit', 'user-hold', 'wait-hold', 'context-churn']);

/** `template` is undefined when the configuration does not have it any more; `lines` is how much of the output is asked for. */
export function toSessionResponse(row: SessionView, template: ShownTemplate | undefined, lines?: number): SessionResponse {
  const closed = row.state === 'closed';
  const reason = reasonOf(row);
  const rest = restOf(row, row.now);
  const starting = startOf(row);
  const shown = metadataOf(row);
  const options = { ...template?.optionDefaults, ...row.options };
  const output = lines === undefined ? '' : lastLines(row.output ?? '', lines);
  return {
    id: row.id,
    template: row.template,
    state: stateOf(row),
    title: row.title,
    provider: row.provider,
    session_name: row.session_name,
    created_at: row.created_at.toISOString(),
    attached: false,
    running: row.live,
    kind: row.kind,
    ...(row.kind === 'agent' ? { agent_kind: agentKindOf(row, template) } : {}),
    ...(isPooled(row, template) ? { pool: baseOf(row.template) } : {}),
    ...(row.alias === '' ? {} : { alias: row.alias }),
    ...(row.rig === '' ? {} : { rig: row.rig }),
    ...(row.live ? { activity: row.activity } : {}),
    ...(row.active_bead === null ? {} : { active_bead: row.active_bead }),
    ...(row.work_dir === null ? {} : { work_dir: row.work_dir }),
    ...(template === undefined ? {} : { display_name: template.spec.display_name ?? row.provider }),
    ...(row.last_turn_at === null ? {} : { last_active: row.last_turn_at.toISOString() }),
    ...(row.nudged_at === null ? {} : { last_nudge_delivered_at: row.nudged_at.toISOString() }),
    ...(row.model === null ? {} : { model: row.model }),
    ...contextOf(row),
    ...(output === '' ? {} : { last_output: output }),
    ...(Object.keys(options).length === 0 ? {} : { options }),
    ...(closed
      ? {}
      : {
          submission_capabilities: { supports_follow_up: true, supports_interrupt_now: row.capabilities.interrupt !== false },
          ...(row.named_identity === null ? {} : { configured_named_session: true }),
          ...(shown === undefined ? {} : { metadata: shown }),
          ...(reason === undefined ? {} : { reason }),
          ...circuitOf(row),
          ...(rest === undefined ? {} : { rest }),
          ...(starting === undefined ? {} : { starting }),
        }),
  };
}

/** What is not in its row, as if it were always the same; a bead, since what its rest is depends on having one. */
const BESIDE = {
  activity: 'idle',
  model: null,
  context_used: null,
  context_window: null,
  active_bead: 'one',
  nudged_at: null,
  output: null,
} as const;

/** Members of the answer about a session that a change of its row has made others. */
export function changedMembers(before: SessionRow, after: SessionRow): string[] {
  // Compared at one instant: what time alone changes is no change.
  const answer = (row: SessionRow): Readonly<Record<string, unknown>> =>
    toSessionResponse({ ...row, ...BESIDE, now: after.updated_at }, undefined);
  const [was, is] = [answer(before), answer(after)];
  return Object.keys({ ...was, ...is }).filter((member) => JSON.stringify(was[member]) !== JSON.stringify(is[member]));
}

/** The state that is shown: nobody is active without a process. */
export function stateOf({ state, live }: Pick<SessionRow, 'state' | 'live'>): string {
  return state === 'active' && !live ? 'asleep' : state;
}

/** Why a session is not simply active; a hold or a quarantine whose time is over is none. */
function reasonOf(row: SessionView): string | undefined {
  if (row.runner_id !== null && (row.reset_pending || row.stop_request === 'reset')) return 'reset-pending';
  if (row.state === 'active' && row.live) return undefined;
  if (hasOpenCircuit(row, row.now)) return 'circuit-open';
  const until = [row.held_until, row.quarantined_until, row.not_before].filter((time) => time !== null);
  const over = until.length > 0 && until.every((time) => time <= row.now);
  if (row.reason !== null && !(over && TIMED.has(row.reason))) return row.reason;
  if (row.quarantined_until !== null && row.quarantined_until > row.now) return 'quarantine';
  return row.held_until !== null && row.held_until > row.now ? 'user-hold' : undefined;
}

/** The breaker of a named session, once it has counted something. */
function circuitOf(row: SessionView): Pick<SessionResponse, 'circuit'> {
  if (row.restarts.length === 0) return {};
  return {
    circuit: { restarts: row.restarts.length, ...(hasOpenCircuit(row, row.now) ? { open_until: row.circuit_until!.toISOString() } : {}) },
  };
}

function agentKindOf(row: SessionView, template: ShownTemplate | undefined): string {
  const dir = template?.agent?.dir ?? row.template.slice(0, Math.max(0, row.template.lastIndexOf('/')));
  if (dir.split('/').at(-1) === 'crew') return 'crew';
  return isPooled(row, template) ? 'pool' : 'role';
}

function isPooled(row: SessionView, template: ShownTemplate | undefined): boolean {
  return row.kind === 'agent' && (template?.isPool ?? row.origin === 'pool');
}

export function baseOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

function contextOf({ context_used, context_window }: SessionView): Pick<SessionResponse, 'context_pct' | 'context_window'> {
  if (context_window === null || context_window <= 0) return {};
  return context_used === null ? { context_window } : { context_window, context_pct: Math.round((100 * context_used) / context_window) };
}

function metadataOf({ metadata }: SessionView): Record<string, string> | undefined {
  const shown = Object.entries(metadata).filter(([key]) => key === SHOWN || (key.startsWith(METADATA) && key !== HIDDEN));
  return shown.length === 0 ? undefined : Object.fromEntries(shown);
}

function lastLines(text: string, lines: number): string {
  return lines === 0 ? '' : text.trimEnd().split('\n').slice(-lines).join('\n');
}
