import { unquoted } from './condition.js';
import { LIMITS } from './limits.js';

export const OPERATORS = ['==', '!=', '>', '>=', '<', '<='] as const;

/** What has to hold after a round of a loop, or before a gate opens: decided while a run goes on, about its steps. */
export type Until =
  | { readonly subject: 'status'; readonly operator: '==' | '!='; readonly value: string }
  | { readonly subject: 'output'; readonly path: readonly string[]; readonly operator: (typeof OPERATORS)[number]; readonly value: string }
  | {
      readonly subject: 'children';
      readonly of: string;
      readonly quantifier: 'all' | 'any' | 'count';
      readonly status: string;
      readonly operator: (typeof OPERATORS)[number];
      readonly value: number;
    }
  | { readonly subject: 'complete'; readonly operator: (typeof OPERATORS)[number]; readonly value: number };

/** Words that a step's status may be compared with: those of steps of runs. */
export const STATUSES = ['pending', 'active', 'blocked', 'completed', 'failed', 'skipped', 'canceled'] as const;

const STATUS = /^step\.status\s*(==|!=)\s*(\S+)$/;
const OUTPUT = /^step\.output\.([A-Za-z_]\w*(?:\.[A-Za-z0-9_]+)*)\s*(==|!=|>=|<=|>|<)\s*(\S.*)$/;
const CHILDREN = /^children\(([A-Za-z0-9_.-]+)\)\.(all|any|count)\(\s*status\s*==\s*([^\s)]+)\s*\)\s*(?:(==|!=|>=|<=|>|<)\s*(\d{1,6}))?$/;
const COMPLETE = /^steps\.complete\s*(==|!=|>=|<=|>|<)\s*(\d{1,6})$/;

/** Reads such a condition. @returns a text that says what is wrong */
export function untilOf(written: string): Until | string {
  if (written.length > LIMITS.expression) return `is longer than ${LIMITS.expression} characters`;
  const text = written.trim();
  if (/^(file\.exists|env\.)/.test(text))
    return 'asks for files or variables of a machine, which a run has none of; ask for output of a step';
  const status = STATUS.exec(text);
  if (status !== null) return known(unquoted(status[2]!), (value) => ({ subject: 'status', operator: status[1] as '==' | '!=', value }));
  const output = OUTPUT.exec(text);
  if (output !== null) {
    const [, path = '', operator, value = ''] = output;
    return { subject: 'output', path: path.split('.'), operator: operator as '==', value: unquoted(value.trim()) };
  }
  const complete = COMPLETE.exec(text);
  if (complete !== null) return { subject: 'complete', operator: complete[1] as '==', value: Number(complete[2]) };
  const children = CHILDREN.exec(text);
  if (children === null) return FORMS;
  const [, of = '', quantifier = '', word = '', operator, count] = children;
  if ((quantifier === 'count') !== (operator !== undefined))
    return 'needs a comparison with a number after count(…), and none after all(…) and any(…)';
  return known(unquoted(word), (value) => ({
    subject: 'children',
    of,
    quantifier: quantifier as 'all',
    status: value,
    operator: (operator ?? '>=') as '>=',
    value: Number(count ?? 1),
  }));
}

const FORMS =
  "must be step.status == 'completed', step.output.<path> > 3, steps.complete >= 3, or children(<step>).all(status == 'completed'), .any(…) or .count(…) >= 3";

function known(status: string, make: (status: string) => Until): Until | string {
  return (STATUSES as readonly string[]).includes(status) ? make(status) : `compares with a status that is none of ${STATUSES.join(', ')}`;
}
