import { moveOf, type SessionCommand, type SessionState } from '../../src/modules/sessions/session-store/session-states.js';
import type { LogRow } from './history.js';
import { grouped } from './history-parts.js';
import type { SessionEnd, SessionsHistory } from './sessions-history.js';
import type { Violations } from './violations.js';

interface Told {
  readonly seq: number;
  readonly type: string;
  readonly subject: string;
  readonly payload: {
    readonly from?: string;
    readonly to?: string;
    readonly generation?: number;
    readonly request_id?: string;
    readonly status?: string;
    readonly action?: string;
  };
}

const COMMANDS: Readonly<Record<string, SessionCommand>> = {
  'session.starting': 'start',
  'session.woke': 'ready',
  'session.stopped': 'sleep',
  'session.crashed': 'sleep',
  'session.cold_start_timeout': 'sleep',
  'session.start_failed': 'fail_start',
  'session.suspended': 'suspend',
  'session.wake_requested': 'wake',
  'session.quarantined': 'quarantine',
  'session.draining': 'drain',
  'session.undrained': 'undrain',
  'session.archived': 'archive',
  'session.closed': 'close',
};

/** The events of every session, replayed: moves of the state table, one process after the other, nothing after the end; and questions. */
export function checkSessionStates(history: SessionsHistory, violations: Violations): void {
  const events = grouped(history.log.filter(({ type }) => type.startsWith('session.')).map(told), ({ subject }) => subject);
  for (const session of history.sessions) {
    const own = events.get(session.id) ?? [];
    states(session, own, violations);
    questions(history, session, own, violations);
  }
  for (const { kind, outcome, session, from, to } of history.asks) {
    if (kind !== 'close' || outcome !== 'acknowledged') continue;
    const row = history.sessions.find(({ id }) => id === session);
    if (row?.state !== 'closed') violations.add('states legal', `${session} was closed and is not closed`, row, { from, to });
  }
}

function told({ seq, text }: LogRow): Told {
  const { type, subject, payload } = JSON.parse(text) as Told;
  return { seq, type, subject: subject ?? '', payload: payload ?? {} };
}

function states(session: SessionEnd, events: readonly Told[], violations: Violations): void {
  let state: string | undefined;
  let generation = 0;
  const wrong = (message: string, ...entries: unknown[]): void => violations.add('states legal', `${session.id}: ${message}`, ...entries);
  for (const event of events) {
    const { type, payload } = event;
    if (type === 'session.created') {
      if (state !== undefined) wrong('it was made twice', event);
      state = payload.to;
      continue;
    }
    // Pools tell it about what they have put to sleep; a runner about what it has.
    if (type === 'session.cold_start_timeout' && state !== 'creating') continue;
    const command = commandOf(event);
    if (command === undefined) continue;
    if (state === undefined) {
      wrong(`${type} before it was made`, event);
      return;
    }
    if (payload.from !== undefined && payload.from !== state) wrong(`${type} from ${payload.from}, but it was ${state}`, event);
    if (type === 'session.starting' && payload.generation !== ++generation) {
      wrong(`process ${payload.generation} after process ${generation - 1}`, event);
      generation = payload.generation ?? generation;
    }
    // A wish told about a session that sleeps anyway.
    if (command === 'wake' && payload.from === payload.to && (state === 'asleep' || state === 'start-pending')) continue;
    const to = moveOf(state as SessionState, command);
    if (to === undefined) wrong(`${type} in ${state}`, event);
    else if (payload.to !== undefined && payload.to !== to) wrong(`${type} leads to ${to}, not to ${payload.to}`, event);
    state = to ?? payload.to ?? state;
  }
  if (state !== session.state) wrong(`its events end in ${state}, its row in ${session.state}`, session);
  if (generation !== session.generation) wrong(`its events end with process ${generation}, its row with ${session.generation}`, session);
  if (session.state === 'closed' && (session.live || session.runner !== null)) wrong('it is closed and has a process', session);
}

/** A start that failed is tried again from its sleep, or for good. */
function commandOf({ type, payload }: Told): SessionCommand | undefined {
  if (type === 'session.start_failed' && payload.to === 'asleep') return 'sleep';
  return COMMANDS[type];
}

/** Every question is asked once and settled once, as its row says; the first answer is the one that counts. */
function questions(history: SessionsHistory, session: SessionEnd, events: readonly Told[], violations: Violations): void {
  const asked = new Set<string>();
  const settled = new Map<string, Told>();
  const wrong = (message: string, ...entries: unknown[]): void => violations.add('answered once', `${session.id}: ${message}`, ...entries);
  for (const event of events) {
    const id = event.payload.request_id ?? '';
    if (event.type === 'session.interaction.opened') {
      if (asked.has(id)) wrong(`${id} was asked twice`, event);
      asked.add(id);
    } else if (event.type === 'session.interaction.resolved') {
      if (!asked.has(id)) wrong(`${id} was settled and never asked`, event);
      if (settled.has(id)) wrong(`${id} was settled twice`, settled.get(id), event);
      settled.set(id, event);
    }
  }
  for (const row of history.interactions.filter((one) => one.session === session.id)) {
    const end = settled.get(row.id)?.payload;
    if (!asked.has(row.id)) wrong(`${row.id} is stored and was never told`, row);
    if ((end?.status ?? 'open') !== row.status || (end?.action ?? null) !== row.action) wrong(`${row.id} is not as it was told`, row, end);
    const answers = history.asks.filter((one) => one.kind === 'respond' && one.session === session.id && one.interaction === row.id);
    const taken = answers.filter(({ outcome }) => outcome === 'acknowledged');
    if (new Set(taken.map(({ marker }) => marker)).size > 1) wrong(`two answers to ${row.id} were taken`, ...taken);
    for (const one of taken)
      if (row.status !== 'answered' || row.action !== one.action) wrong(`the answer to ${row.id} that was taken does not count`, one, row);
    if (row.status === 'answered' && !answers.some(({ outcome, action }) => outcome !== 'refused' && action === row.action))
      wrong(`nobody gave the answer of ${row.id}`, row, ...answers);
  }
}
