/** What keeps a session awake, in the order in which it is named. */
export const BLOCKERS = ['interaction', 'work', 'messages', 'pin', 'dependents'] as const;
export type Blocker = (typeof BLOCKERS)[number];

/** Times are milliseconds of the database's clock. */
export interface TimerFacts {
  readonly now: number;
  /** It has a process that answers, and nobody has asked for its end. */
  readonly running: boolean;
  readonly inTurn: boolean;
  /** Since when it is idle, or in its turn. */
  readonly activityAt: number;
  /** When something came out of it last. */
  readonly outputAt: number | undefined;
  readonly readyAt: number;
  readonly blockers: ReadonlySet<Blocker>;
  readonly idleMs: number | undefined;
  /** With its jitter. */
  readonly maxAgeMs: number | undefined;
  /** How long work may put off the end of its age; undefined: for ever. */
  readonly deferMs: number | undefined;
  readonly stallMs: number | undefined;
  readonly holderStallMs: number | undefined;
}

export type TimerDecision =
  | { readonly act: 'kill'; readonly reason: 'stalled' }
  | { readonly act: 'drain'; readonly reason: 'max-session-age' }
  | { readonly act: 'sleep'; readonly reason: 'idle-timeout' }
  /** Nothing yet: `blocker` is what the time that is over is put off by, `at` when to look again at the latest. */
  | { readonly act: 'none'; readonly blocker?: Blocker; readonly at?: number };

/** A day is as good as never for what is looked at every half minute. */
const FAR_MS = 86_400_000;

/**
 * What a session's timers say now. One that hangs is killed before its age counts, its age before its idleness. An open
 * question puts off everything, work all but its end by age beyond `deferMs`; the rest only keeps it from falling asleep.
 */
export function timerDecision(facts: TimerFacts): TimerDecision {
  const { now, running, blockers } = facts;
  if (!running) return { act: 'none' };
  const stall = stallOf(facts);
  const age = facts.maxAgeMs === undefined ? undefined : facts.readyAt + facts.maxAgeMs;
  const idle = facts.idleMs === undefined || facts.inTurn ? undefined : facts.activityAt + facts.idleMs;
  const due = (at: number | undefined): boolean => at !== undefined && at <= now;
  if (due(stall)) return blockers.has('interaction') ? { act: 'none', blocker: 'interaction' } : { act: 'kill', reason: 'stalled' };
  let blocker: Blocker | undefined;
  let again: number | undefined;
  if (due(age)) {
    blocker = ageBlocker(facts, age!);
    if (blocker === undefined) return { act: 'drain', reason: 'max-session-age' };
    if (blocker === 'work' && facts.deferMs !== undefined) again = age! + facts.deferMs;
  }
  if (due(idle)) {
    const held = BLOCKERS.find((one) => blockers.has(one));
    if (held === undefined) return { act: 'sleep', reason: 'idle-timeout' };
    blocker ??= held;
  }
  const coming = [stall, age, idle, again].filter((at): at is number => at !== undefined && at > now);
  const at = coming.length === 0 ? undefined : Math.min(...coming, now + FAR_MS);
  return { act: 'none', ...(blocker === undefined ? {} : { blocker }), ...(at === undefined ? {} : { at }) };
}

function ageBlocker({ now, blockers, deferMs }: TimerFacts, age: number): Blocker | undefined {
  if (blockers.has('interaction')) return 'interaction';
  if (blockers.has('work') && (deferMs === undefined || now < age + deferMs)) return 'work';
  return undefined;
}

/** In a turn: nothing has come for too long. Idle: it holds work and nothing happens. */
function stallOf({ inTurn, activityAt, outputAt, stallMs, holderStallMs, blockers }: TimerFacts): number | undefined {
  if (inTurn) return stallMs === undefined ? undefined : Math.max(activityAt, outputAt ?? 0) + stallMs;
  return holderStallMs === undefined || !blockers.has('work') ? undefined : activityAt + holderStallMs;
}
