import { parseDuration } from '../../../../contract/duration.js';
import type { Table } from '../../../files/composition/tree.js';
import { conditionOf } from './condition.js';
import type { Check, Drain, Gate, GateType, Loop, OnComplete, Retry, Step, Where } from './formula.js';
import { inside, type Issues } from './issues.js';
import { LIMITS } from './limits.js';
import { textsOf, whereOf } from './members.js';
import { metadataRules } from './metadata.js';
import { bareStep } from './read-advice.js';
import { untilOf } from './until.js';

/** Ids may hold `{…}` where something is put in; in the end they are made of these. */
const ID = /^[A-Za-z0-9_{}.-]+$/;
const WAITS = /^(?:all-children|any-children|children-of\(([^()]+)\))$/;

/** The steps of a list with everything below them. */
export function readSteps(table: Table, key: string, issues: Issues): Step[] {
  return table.tables(key).map((step) => stepOf(step, issues));
}

function stepOf(table: Table, issues: Issues): Step {
  const where = whereOf(table);
  const at = (key: string): Where => inside(where, key);
  const text = (key: string): string => table.text(key) ?? '';
  const id = text('id');
  if (id === '') issues.error(at('id'), 'is required');
  else if (!ID.test(id) || id.length > LIMITS.id)
    issues.error(at('id'), `must match ${ID.source} and have at most ${LIMITS.id} characters`);
  const expand = table.text('expand');
  if (text('title').trim() === '' && expand === undefined && table.get('loop') === undefined) issues.error(at('title'), 'is required');
  if (table.get('description') !== undefined && table.get('description_file') !== undefined)
    issues.error(at('description_file'), 'cannot stand beside description');
  if (table.table('expand_vars') !== undefined && expand === undefined) issues.error(at('expand_vars'), 'has no effect without expand');
  const needs = [...new Set([...(table.texts('depends_on') ?? []), ...(table.texts('needs') ?? [])])];
  metadataRules(textsOf(table, 'metadata'), at('metadata'), issues);
  const step = bareStep(where, {
    id,
    title: text('title'),
    description: text('description'),
    notes: text('notes'),
    type: text('type'),
    tags: table.texts('tags') ?? [],
    metadata: textsOf(table, 'metadata'),
    needs,
    assignee: text('assignee'),
    expandVars: textsOf(table, 'expand_vars'),
    children: readSteps(table, 'children', issues),
    ...given('descriptionFile', table.text('description_file')),
    ...given('priority', table.number('priority')),
    ...given('waitsFor', waitsFor(table, needs, at, issues)),
    ...given('expand', expand),
    ...given('condition', condition(table, at, issues)),
    ...given('gate', gateOf(table.table('gate'), issues)),
    ...given('loop', loopOf(table.table('loop'), issues)),
    ...given('check', checkOf(table, at, issues)),
    ...given('retry', retryOf(table.table('retry'), issues)),
    ...given('onComplete', onCompleteOf(table.table('on_complete'), issues)),
    ...given('drain', drainOf(table.table('drain'), issues)),
    ...given('timeout', durationAt(table, 'timeout', at, issues)),
  });
  combinations(step, at, issues);
  return step;
}

function given<K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> {
  return (value === undefined ? {} : { [key]: value }) as Partial<Record<K, V>>;
}

/** What cannot stand beside each of these, as its key says. */
const EXCLUDED: readonly (readonly [keyof Step, readonly (keyof Step)[]])[] = [
  ['check', ['loop', 'onComplete', 'gate', 'expand', 'assignee', 'retry']],
  ['retry', ['check', 'loop', 'onComplete', 'gate', 'expand', 'children']],
  ['drain', ['assignee', 'expand', 'gate', 'loop', 'onComplete', 'check', 'retry', 'children', 'timeout']],
  [
    'loop',
    ['description', 'descriptionFile', 'notes', 'type', 'priority', 'assignee', 'children', 'expand', 'gate', 'onComplete', 'waitsFor'],
  ],
  ['expand', ['description', 'descriptionFile', 'notes', 'type', 'priority', 'assignee', 'children', 'gate', 'onComplete', 'waitsFor']],
];
/** What of a step an expansion would lose, by the keys as they are written. Its gate stays, before all that is put in its place. */
export function lostToExpansion(step: Step): string[] {
  const beside = EXCLUDED.flatMap(([key, others]) => (key === 'expand' ? others : others.includes('expand') ? [key] : []));
  return [...new Set(beside)]
    .filter((key) => !HANDED_ON.has(key) && key !== 'gate' && says(step, key) && !(key === 'type' && step.type === 'task'))
    .map((key) => WRITTEN[key] ?? key)
    .sort();
}

/** What an expansion has words for. */
const HANDED_ON: ReadonlySet<keyof Step> = new Set(['title', 'description', 'descriptionFile'] as const);
const WRITTEN: Readonly<Record<string, string>> = { onComplete: 'on_complete', descriptionFile: 'description_file', waitsFor: 'waits_for' };

function combinations(step: Step, at: (key: string) => Where, issues: Issues): void {
  const has = (key: keyof Step): boolean => says(step, key);
  // A loop that goes on until something holds is a step of its own, and an expansion hands its title and description on.
  const allowed = (key: string, other: string): boolean =>
    (key === 'loop' && step.loop?.until !== undefined && ['title', 'description', 'notes', 'type', 'priority'].includes(other)) ||
    (key === 'expand' && ['title', 'description'].includes(other));
  for (const [key, others] of EXCLUDED)
    if (has(key))
      for (const other of others)
        if (has(other) && !allowed(key, other)) issues.error(at(WRITTEN[other] ?? other), `cannot stand beside ${WRITTEN[key] ?? key}`);
  if (step.timeout !== undefined && step.check === undefined) issues.error(at('timeout'), 'has no effect without check');
  if (step.drain !== undefined && step.metadata['gc.kind'] !== undefined) issues.error(at('metadata'), 'cannot have gc.kind beside drain');
}

function says(step: Step, key: keyof Step): boolean {
  const value = step[key];
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== '';
}

function waitsFor(table: Table, needs: readonly string[], at: (key: string) => Where, issues: Issues): string | undefined {
  const written = table.text('waits_for');
  if (written === undefined) return undefined;
  const found = WAITS.exec(written);
  if (found === null) issues.error(at('waits_for'), 'must be all-children or children-of(<step>)');
  else if (written === 'any-children') issues.error(at('waits_for'), 'any-children has no effect: a step waits for all that it waits for');
  else if (found[1] === undefined && needs.length === 0) issues.error(at('waits_for'), 'needs a step in needs, or children-of(<step>)');
  else return found[1] ?? needs[0];
  return undefined;
}

function condition(table: Table, at: (key: string) => Where, issues: Issues): Step['condition'] {
  const written = table.text('condition');
  if (written === undefined) return undefined;
  const found = conditionOf(written);
  if (found === undefined) issues.error(at('condition'), 'must be {{v}}, !{{v}}, {{v}} == value or {{v}} != value');
  return found;
}

const GATES: readonly GateType[] = ['timer', 'human', 'mail', 'run'];

function gateOf(table: Table | undefined, issues: Issues): Gate | undefined {
  if (table === undefined) return undefined;
  const where = whereOf(table);
  const type = (table.text('type') ?? '') as GateType;
  const id = table.text('id') ?? '';
  const timeout = durationAt(table, 'timeout', (key) => inside(where, key), issues);
  if (!GATES.includes(type)) {
    const why = type.startsWith('gh:') ? 'nothing asks other services: wait for a run, or for a person' : 'is not a gate that opens';
    issues.error(inside(where, 'type'), why, GATES);
  } else if (type === 'timer') {
    if (table.text('timeout') === undefined) issues.error(inside(where, 'timeout'), 'is required: how long the timer takes');
    if (id !== '') issues.error(inside(where, 'id'), 'has no effect with a timer');
  } else if (id.trim() === '') issues.error(inside(where, 'id'), `is required: ${WAITED[type] ?? 'what is waited for'}`);
  return { type, id, ...(timeout === undefined ? {} : { timeout }) };
}

const WAITED: Readonly<Record<string, string>> = {
  human: 'the name that people see',
  mail: 'the address whose message opens it',
  run: 'the id of the run',
};

function loopOf(table: Table | undefined, issues: Issues): Loop | undefined {
  if (table === undefined) return undefined;
  const where = whereOf(table);
  const body = readSteps(table, 'body', issues);
  const [count, range, written, max] = [table.number('count'), table.text('range'), table.text('until'), table.number('max')];
  if (body.length === 0) issues.error(inside(where, 'body'), 'is required');
  const kinds = ['count', 'range', 'until'].filter((key) => table.get(key) !== undefined);
  if (kinds.length !== 1) issues.error(where, 'needs exactly one of count, range and until');
  if (count !== undefined && count < 0) issues.error(inside(where, 'count'), 'must not be negative');
  if (range !== undefined && !range.includes('..')) issues.error(inside(where, 'range'), 'must be start..end');
  if (written !== undefined && max === undefined) issues.error(inside(where, 'max'), 'is required with until');
  if (written === undefined && max !== undefined) issues.error(inside(where, 'max'), 'has no effect without until');
  if (max !== undefined && (max < 1 || max > LIMITS.rounds)) issues.error(inside(where, 'max'), `must be between 1 and ${LIMITS.rounds}`);
  const until = written === undefined ? undefined : untilOf(written);
  if (typeof until === 'string') issues.error(inside(where, 'until'), until);
  return {
    where,
    body,
    ...given('count', count),
    ...given('range', range),
    ...given('var', table.text('var')),
    ...given('until', typeof until === 'string' ? undefined : until),
    ...given('max', max),
  };
}

function checkOf(table: Table, at: (key: string) => Where, issues: Issues): Check | undefined {
  const found = table.table('check') ?? table.table('ralph');
  if (found === undefined) return undefined;
  if (table.table('check') !== undefined && table.table('ralph') !== undefined)
    issues.error(at('check'), 'cannot be specified more than once');
  const where = whereOf(found);
  const attempts = attemptsOf(found, issues);
  const inner = found.table('check');
  const within = inside(where, 'check');
  if (inner === undefined) issues.error(within, 'is required');
  else if (inner.text('mode') === undefined) issues.error(inside(within, 'mode'), 'is required');
  else if (inner.text('mode') !== 'exec') issues.error(inside(within, 'mode'), 'must be exec');
  const path = inner?.text('path') ?? '';
  if (inner !== undefined && path.trim() === '') issues.error(inside(within, 'path'), 'is required');
  const timeout = inner && durationAt(inner, 'timeout', (key) => inside(within, key), issues);
  return { max_attempts: attempts, path, ...given('timeout', timeout) };
}

function retryOf(table: Table | undefined, issues: Issues): Retry | undefined {
  if (table === undefined) return undefined;
  return { max_attempts: attemptsOf(table, issues), on_exhausted: (table.text('on_exhausted') ?? 'hard_fail') as Retry['on_exhausted'] };
}

const ATTEMPTS = 100;

function attemptsOf(table: Table, issues: Issues): number {
  const attempts = table.number('max_attempts') ?? 0;
  if (attempts < 1 || attempts > ATTEMPTS) issues.error(inside(whereOf(table), 'max_attempts'), `must be between 1 and ${ATTEMPTS}`);
  return attempts;
}

function onCompleteOf(table: Table | undefined, issues: Issues): OnComplete | undefined {
  if (table === undefined) return undefined;
  const where = whereOf(table);
  const [for_each, bond] = [table.text('for_each') ?? '', table.text('bond') ?? ''];
  if (bond === '') issues.error(inside(where, 'bond'), 'is required');
  if (for_each === '') issues.error(inside(where, 'for_each'), 'is required');
  else if (!/^output(\.[A-Za-z0-9_]+)+$/.test(for_each)) issues.error(inside(where, 'for_each'), 'must be output.<path>');
  const sequential = table.flag('sequential') ?? false;
  if (sequential && table.flag('parallel') === true) issues.error(inside(where, 'sequential'), 'cannot stand beside parallel');
  return { for_each, bond, vars: textsOf(table, 'vars'), sequential: sequential || table.flag('parallel') === false };
}

function drainOf(table: Table | undefined, issues: Issues): Drain | undefined {
  if (table === undefined) return undefined;
  const where = whereOf(table);
  const formula = table.text('formula') ?? '';
  if (formula === '') issues.error(inside(where, 'formula'), 'is required');
  else if (formula.includes('{{')) issues.error(inside(where, 'formula'), 'cannot hold a placeholder');
  const context = (table.text('context') ?? 'separate') as Drain['context'];
  const group = table.text('continuation_group');
  const lane = table.table('item')?.flag('single_lane');
  if (group !== undefined && context !== 'shared') issues.error(inside(where, 'continuation_group'), 'needs context = "shared"');
  if (context === 'shared' && lane !== true) issues.error(inside(where, 'item.single_lane'), 'must be true with context = "shared"');
  if (context === 'separate' && lane !== undefined) issues.error(inside(where, 'item.single_lane'), 'needs context = "shared"');
  const failure = (table.text('on_item_failure') ?? (context === 'shared' ? 'skip_remaining' : 'continue')) as Drain['on_item_failure'];
  if ((failure === 'skip_remaining') !== (context === 'shared'))
    issues.error(inside(where, 'on_item_failure'), 'is continue with context = "separate", and skip_remaining with "shared"');
  return {
    formula,
    context,
    member_access: (table.text('member_access') ?? 'read') as Drain['member_access'],
    max_units: table.number('max_units') ?? 100,
    on_item_failure: failure,
    ...given('continuation_group', group),
  };
}

/** A duration as it is written; one that may hold a placeholder is looked at once that is replaced. */
function durationAt(table: Table, key: string, at: (key: string) => Where, issues: Issues): string | undefined {
  const written = table.text(key);
  if (written !== undefined && !written.includes('{') && !((parseDuration(written) ?? 0) > 0))
    issues.error(at(key), 'must be a positive duration such as 90s or 1h30m');
  return written;
}
