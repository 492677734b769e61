import type { Table } from '../../../files/composition/tree.js';
import type { Advice, Step, Where } from './formula.js';
import { inside, type Issues } from './issues.js';
import { whereOf } from './members.js';

/** What is put around steps: those that come before, and those that come after. */
export function adviceOf(table: Table, issues: Issues): Advice {
  const where = whereOf(table);
  const target = table.text('target') ?? '';
  if (target === '') issues.error(inside(where, 'target'), 'is required');
  const around = table.table('around');
  const one = (key: string): Table[] => (table.table(key) === undefined ? [] : [table.table(key)!]);
  const before = [...one('before'), ...(around?.tables('before') ?? [])].map((step) => insertedOf(step, issues));
  const after = [...(around?.tables('after') ?? []), ...one('after')].map((step) => insertedOf(step, issues));
  if (before.length + after.length === 0) issues.error(where, 'needs before, after or around');
  return { where, target, before, after };
}

function insertedOf(table: Table, issues: Issues): Step {
  const where = whereOf(table);
  const id = table.text('id') ?? '';
  if (id === '') issues.error(inside(where, 'id'), 'is required');
  return bareStep(where, {
    id,
    title: table.text('title') ?? id,
    description: table.text('description') ?? '',
    type: table.text('type') ?? '',
  });
}

/** A step with nothing but what is given. */
export function bareStep(where: Where, given: Pick<Step, 'id' | 'title'> & Partial<Step>): Step {
  return {
    where,
    description: '',
    notes: '',
    type: '',
    tags: [],
    metadata: {},
    needs: [],
    assignee: '',
    expandVars: {},
    children: [],
    ...given,
  };
}
