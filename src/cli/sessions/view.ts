import type { Schemas } from '../api.js';
import { age, moment } from '../duration.js';
import type { Io } from '../io.js';
import { block, cut, facts, table } from '../table.js';
import type { Question } from '../../client/turns.js';
import { harmlessLine } from '../harmless.js';
import { questionLine } from './questions.js';
import { restFact } from './rest.js';
import { startLine } from './starts.js';

export type Session = Schemas['SessionResponse'];

/** Why a session is down. */
export interface Failure {
  readonly at: string;
  /** What its process said last, or why there was none. */
  readonly message: string;
}

/** `active, in-turn` or `asleep (crashed)`: what it is doing, or why it is not. */
export function stateOf({ state, activity, reason }: Session): string {
  return `${state}${activity === undefined ? '' : `, ${activity}`}${reason === undefined || reason === state ? '' : ` (${reason})`}`;
}

const QUESTION_LENGTH = 40;

/** `asked`: what sessions ask people, by their ids. */
export function sessionTable(sessions: readonly Session[], io: Io, asked: ReadonlyMap<string, Question> = new Map()): string {
  const rows = sessions.map((session) => [
    session.id,
    stateOf(session) + asks(asked.get(session.id)),
    session.template,
    session.alias ?? '',
    session.active_bead ?? '',
    age(session.last_active ?? session.created_at),
    ...(io.wide === true
      ? [session.provider, session.model ?? '', session.rig ?? '', session.pool ?? '', session.session_name, session.work_dir ?? '']
      : []),
    session.title,
  ]);
  const wide = io.wide === true ? ['PROVIDER', 'MODEL', 'RIG', 'POOL', 'NAME', 'DIRECTORY'] : [];
  return table(['ID', 'STATE', 'OF', 'ALIAS', 'BEAD', 'ACTIVE', ...wide, 'TITLE'], rows, io);
}

function asks(question: Question | undefined): string {
  return question === undefined ? '' : `, asks: ${cut(harmlessLine(question.prompt ?? question.kind), QUESTION_LENGTH)}`;
}

export function sessionDetails(session: Session, failure?: Failure, questions: readonly Question[] = []): string {
  const { options = {}, submission_capabilities: can } = session;
  const context = session.context_pct === undefined ? undefined : `${session.context_pct} % of ${session.context_window ?? 0} used`;
  const about = facts([
    ['id', session.id],
    ['title', session.title],
    ['state', stateOf(session)],
    ...questions.map((question): [string, string] => ['asks', questionLine(session.id, question)]),
    ['of', `${session.kind ?? 'agent'} ${session.template}`],
    ['circuit', circuitOf(session)],
    ['rests', session.rest === undefined ? undefined : restFact(session.rest, session.id)],
    ['starting', session.starting === undefined ? undefined : startLine(session.starting)],
    ['alias', session.alias],
    ['name', session.session_name],
    ['provider', session.provider],
    ['model', session.model],
    ['context', context],
    [
      'options',
      Object.entries(options)
        .map(([key, value]) => `${key}=${value}`)
        .join(' '),
    ],
    ['rig', session.rig],
    ['pool', session.pool],
    ['bead', session.active_bead],
    ['directory', session.work_dir],
    ['created', moment(session.created_at)],
    ['active', session.last_active === undefined ? undefined : moment(session.last_active)],
    ['interrupts', can?.supports_interrupt_now === false ? 'no: a message waits for the end of a turn' : undefined],
  ]);
  const failed = failure === undefined ? '' : `failed ${age(failure.at)} ago:\n${block(failure.message)}`;
  return about + failed + (session.last_output === undefined ? '' : `last output:\n${block(session.last_output)}`);
}

/** `open until …` or how near it is to that. */
function circuitOf({ circuit }: Session): string | undefined {
  if (circuit === undefined) return undefined;
  const ends = `${circuit.restarts} ends without a finished turn`;
  return circuit.open_until === undefined ? `closed; ${ends}` : `open until ${moment(circuit.open_until)}; ${ends}`;
}

export function messageTable(messages: readonly Schemas['SessionMessageRecord'][], io: Pick<Io, 'width' | 'colour'>): string {
  const rows = messages.map((m) => [
    m.id,
    m.error_code === undefined ? m.status : `${m.status} (${m.error_code})`,
    m.intent,
    m.sender,
    age(m.created_at),
    m.message,
  ]);
  return table(['ID', 'STATUS', 'INTENT', 'FROM', 'AGE', 'MESSAGE'], rows, io);
}

type Totals = Schemas['UsageTotals'];

const costOf = ({ cost_usd_estimate: cost, unpriced }: Pick<Totals, 'cost_usd_estimate' | 'unpriced'>): string =>
  `$${cost.toFixed(cost < 1 ? 4 : 2)}${unpriced === 0 ? '' : ` + ${unpriced} unpriced`}`;

type Tokens = Pick<
  Totals,
  'input_tokens' | 'output_tokens' | 'cache_read_tokens' | 'cache_creation_tokens' | 'cost_usd_estimate' | 'unpriced'
>;

const tokens = (of: Tokens): string[] => [
  String(of.input_tokens),
  String(of.output_tokens),
  String(of.cache_read_tokens),
  String(of.cache_creation_tokens),
  costOf(of),
];
const TOKENS = ['IN', 'OUT', 'CACHE READ', 'CACHE WRITTEN', 'COST'];

/** What was used in several spans of time, one a line. */
export function totalsTable(spans: readonly (readonly [string, Totals | undefined])[], io: Io): string {
  const rows = spans.flatMap(([name, of]) => (of === undefined ? [] : [[name, String(of.compute_facts), ...tokens(of)]]));
  return table(['', 'TURNS', ...TOKENS], rows, io);
}

export function usersTable(what: string, users: readonly (readonly [string, Tokens])[], io: Io): string {
  return table(
    [what, ...TOKENS],
    users.map(([name, of]) => [name, ...tokens(of)]),
    io,
  );
}
