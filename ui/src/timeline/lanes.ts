import type { Bead, LoggedEvent } from '../api/types.js';

/** What a timeline is made of, from events: spans in lanes, and sums. Knows no browser. */
export type SpanTone = 'good' | 'warn' | 'bad' | 'quiet' | 'accent' | 'person';
export interface Span {
  readonly from: number;
  /** Undefined: it goes on. */
  readonly to: number | undefined;
  readonly label: string;
  readonly tone: SpanTone;
}
export interface Lane {
  readonly name: string;
  readonly spans: readonly Span[];
}

const time = (text: string | undefined): number => (text === undefined ? Number.NaN : new Date(text).getTime());

/** What follows one another: a span lasts until another word comes. Nothing is said while the word is undefined. */
export function runsOf<T>(
  points: readonly { readonly at: number; readonly value: T | undefined }[],
  show: (value: T) => { readonly label: string; readonly tone: SpanTone },
  ended?: number,
): Span[] {
  const spans: Span[] = [];
  let open: { from: number; label: string; tone: SpanTone } | undefined;
  for (const { at, value } of points) {
    const next = value === undefined ? undefined : show(value);
    if (open !== undefined && next !== undefined && next.label === open.label) continue;
    if (open !== undefined && at > open.from) spans.push({ ...open, to: at });
    open = next === undefined ? undefined : { from: at, ...next };
  }
  if (open !== undefined) spans.push({ ...open, to: ended });
  return spans;
}

const STATES = {
  closed: { label: 'closed', tone: 'quiet' },
  blocked: { label: 'blocked', tone: 'warn' },
  in_progress: { label: 'in progress', tone: 'accent' },
  open: { label: 'open', tone: 'good' },
} as const;
export const stateOf = ({ status, is_blocked: blocked }: Bead): keyof typeof STATES =>
  status === 'closed' ? 'closed' : status === 'in_progress' ? 'in_progress' : blocked === true ? 'blocked' : 'open';

interface Turn {
  readonly operation?: string;
  readonly started_at?: string;
  readonly finished_at?: string;
  readonly cost_usd_estimate?: number;
  readonly session_id?: string;
  readonly session_name?: string;
  readonly result?: string;
}

/** The turns of sessions, one lane for all; each from its beginning to its end. */
export function turnsOf(events: readonly LoggedEvent[]): { spans: Span[]; cost: number; sessions: string[] } {
  const sessions = new Set<string>();
  let cost = 0;
  const spans: Span[] = [];
  for (const { type, payload, session_id: id } of events) {
    if (type !== 'worker.operation') continue;
    const turn = payload as Turn;
    const from = time(turn.started_at);
    const to = time(turn.finished_at);
    cost += turn.cost_usd_estimate ?? 0;
    const session = turn.session_id ?? id;
    if (session !== undefined) sessions.add(session);
    if (Number.isNaN(from) || Number.isNaN(to)) continue;
    const failed = turn.result !== undefined && /fail|error/.test(turn.result);
    spans.push({ from, to, label: `${turn.operation ?? 'turn'} · ${turn.session_name ?? session ?? ''}`, tone: failed ? 'bad' : 'accent' });
  }
  return { spans: spans.sort((a, b) => a.from - b.from), cost, sessions: [...sessions] };
}

/** Times during which an agent waited for the answer of a person. */
export function waitsOf(events: readonly LoggedEvent[]): Span[] {
  const open = new Map<string, { from: number; label: string }>();
  const spans: Span[] = [];
  for (const { type, ts, payload } of events) {
    const id = payload.request_id;
    if (typeof id !== 'string') continue;
    if (type === 'session.interaction.opened')
      open.set(id, { from: time(ts), label: typeof payload.prompt === 'string' ? payload.prompt : 'a question' });
    else if (type === 'session.interaction.resolved') {
      const began = open.get(id);
      if (began === undefined) continue;
      open.delete(id);
      spans.push({ ...began, to: time(ts), tone: 'person' });
    }
  }
  for (const began of open.values()) spans.push({ ...began, to: undefined, tone: 'person' });
  return spans.sort((a, b) => a.from - b.from);
}

/** How long some of these spans went on; what overlaps counts once. */
export function lasting(spans: readonly Span[], now: number): number {
  let sum = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (const { from, to = now } of [...spans].sort((a, b) => a.from - b.from)) {
    if (to <= reached) continue;
    sum += to - Math.max(from, reached);
    reached = to;
  }
  return sum;
}

export interface BeadTime {
  readonly lanes: readonly Lane[];
  readonly from: number;
  /** Undefined while it is not closed. */
  readonly to: number | undefined;
  readonly cost: number;
  readonly sessions: readonly string[];
  readonly worked: readonly Span[];
  readonly blocked: readonly Span[];
  readonly asked: readonly Span[];
}

/** The time of a bead: what it was, who had it, which turns were for it, and when a person was waited for. Events in the order in which they happened. */
export function timeOf(events: readonly LoggedEvent[]): BeadTime | undefined {
  const changes = events.flatMap(({ type, ts, payload }) => {
    const { bead } = payload as { bead?: Bead };
    return type.startsWith('bead.') && bead?.revision !== undefined ? [{ at: time(ts), bead }] : [];
  });
  const first = changes[0];
  const last = changes.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const closed = last.bead.status === 'closed' ? last.at : undefined;
  const states = runsOf(
    changes.map(({ at, bead }) => ({ at, value: stateOf(bead) })),
    (state) => STATES[state],
    closed,
  ).filter(({ label, to, from }) => label !== 'closed' || to !== from);
  const holders = runsOf(
    changes.map(({ at, bead }) => ({ at, value: bead.status === 'closed' || bead.assignee === '' ? undefined : bead.assignee })),
    (assignee) => ({ label: assignee, tone: 'good' }),
    closed,
  );
  const { spans: turns, cost, sessions } = turnsOf(events);
  const asked = waitsOf(events);
  const lanes: Lane[] = [
    { name: 'State', spans: states },
    { name: 'Held by', spans: holders },
    { name: 'Turns', spans: turns },
    { name: 'Waits for you', spans: asked },
  ];
  return {
    lanes: lanes.filter(({ spans }) => spans.length > 0),
    from: Math.min(first.at, ...turns.map(({ from }) => from)),
    to: closed,
    cost,
    sessions,
    worked: states.filter(({ label }) => label === 'in progress'),
    blocked: states.filter(({ label }) => label === 'blocked'),
    asked,
  };
}
