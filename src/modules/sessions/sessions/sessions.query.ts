import { z } from 'zod';
import { blockingRead, queryBool, queryEnum, queryFlag, queryInt, queryList, queryText } from '../../../contract/query.js';
import { SESSION_STATES, type SessionState } from '../session-store/session-states.js';

/** Names that states had elsewhere. */
const OTHER_NAMES: Readonly<Record<string, SessionState>> = { awake: 'active', drained: 'asleep' };
const GROUPS: Readonly<Record<string, readonly SessionState[]>> = {
  all: SESSION_STATES,
  open: SESSION_STATES.filter((state) => state !== 'closed'),
};

function statesOf(word: string): readonly SessionState[] | undefined {
  const name = OTHER_NAMES[word] ?? word;
  return GROUPS[name] ?? (SESSION_STATES as readonly string[]).flatMap((state) => (state === name ? [state as SessionState] : []));
}

const known = [...SESSION_STATES, ...Object.keys(OTHER_NAMES), ...Object.keys(GROUPS)];

/** The states that a list asks for; undefined for every one that is not closed. */
export function wantedStates(words: readonly string[] | undefined): readonly SessionState[] {
  const named = (words ?? []).filter((word) => word !== '');
  return named.length === 0 ? GROUPS.open! : [...new Set(named.flatMap((word) => statesOf(word) ?? []))];
}

export const SessionsQuery = z.strictObject({
  cursor: queryText(),
  limit: queryInt({ min: 0, max: 1000, default: 100 }),
  state: queryList({ max: 32 })
    .refine((words) => (words ?? []).every((word) => word === '' || known.includes(word)), `must be of ${known.join(', ')}`)
    .describe('Only in these states, by commas; `open` (the default), `closed` and `all` stand for several.'),
  template: queryText(),
  peek: queryBool(),
  rig: queryText(),
  provider: queryText().describe('Only of this provider.'),
  kind: queryEnum(['agent', 'provider']).describe('Only those made of an agent, or of a bare provider.'),
  running: queryFlag().describe('Only those with a process, or without one.'),
  pending: queryFlag().describe('Only those that ask a person something, or do not.'),
  sort: queryEnum(['created_at', 'updated_at']).describe(
    'The order: made last first (`created_at`, unless given), or changed last first. A cursor belongs to its order.',
  ),
  ...blockingRead,
});
export type SessionsQuery = z.infer<typeof SessionsQuery>;

export const SessionQuery = z.strictObject({
  peek: queryBool(),
  peek_lines: queryInt({ min: 0, max: 10_000 }).describe('How many lines of it; 5 unless given.'),
});
export type SessionQuery = z.infer<typeof SessionQuery>;

export const CloseQuery = z.strictObject({ delete: queryBool().describe('Also forget it: it is in no list any more.') });
export type CloseQuery = z.infer<typeof CloseQuery>;

export const WakeQuery = z.strictObject({
  force: queryBool().describe('Also while its circuit is open: it has ended again and again without finishing a turn.'),
});
export type WakeQuery = z.infer<typeof WakeQuery>;

/** An id, a name, or an alias; percent-encoded where it has a slash. */
export const SessionRefParam = z.string().min(1).max(512).describe('The session: its id, its name or its alias.');
