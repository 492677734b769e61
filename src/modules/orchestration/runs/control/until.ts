import type { OPERATORS, STATUSES, Until } from '../../formulas/compile/until.js';
import { at, parsed } from './outcome.js';

export type Status = (typeof STATUSES)[number];

/** What a condition is asked about. */
export interface Asked {
  /** The step that `step` means: the last one of the round. */
  readonly status: Status;
  readonly output: string | undefined;
  /** Those of `children(<step>)`. */
  readonly children: (of: string) => Tally;
  /** Those of `steps.complete`. */
  readonly steps: () => Tally;
}

/** How many steps there are, and how many of them stand so. */
export interface Tally {
  readonly all: number;
  readonly of: (status: Status) => number;
}

export function holds(until: Until, asked: Asked): boolean {
  switch (until.subject) {
    case 'status':
      return (asked.status === until.value) === (until.operator === '==');
    case 'output': {
      const found = parsed(asked.output);
      const value = found === undefined ? undefined : at(found.value, until.path);
      return value !== undefined && compares(value, until.operator, until.value);
    }
    case 'complete':
      return compares(asked.steps().of('completed'), until.operator, String(until.value));
    case 'children': {
      const { all, of } = asked.children(until.of);
      const fitting = of(until.status as Status);
      if (until.quantifier === 'all') return all > 0 && fitting === all;
      return until.quantifier === 'any' ? fitting > 0 : compares(fitting, until.operator, String(until.value));
    }
  }
}

/** Numbers as numbers, everything else as text; what is no number is neither more nor less than one. */
function compares(value: unknown, operator: (typeof OPERATORS)[number], wanted: string): boolean {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const [left, right] = [number(text), number(wanted)];
  const both = left !== undefined && right !== undefined;
  switch (operator) {
    case '==':
      return both ? left === right : text === wanted;
    case '!=':
      return both ? left !== right : text !== wanted;
    case '>':
      return both && left > right;
    case '>=':
      return both && left >= right;
    case '<':
      return both && left < right;
    case '<=':
      return both && left <= right;
  }
}

function number(text: string): number | undefined {
  return text.trim() === '' || !Number.isFinite(Number(text)) ? undefined : Number(text);
}
