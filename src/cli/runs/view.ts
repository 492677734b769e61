import type { Schemas } from '../api.js';
import { age, moment } from '../duration.js';
import type { Io } from '../io.js';
import { cut, facts, plain, table } from '../table.js';

export type Run = Schemas['Run'];
export type Step = Schemas['RunStep'];

const MARKS: Readonly<Record<Step['status'], string>> = {
  pending: '○',
  blocked: '·',
  active: '●',
  completed: '✓',
  failed: '✗',
  skipped: '-',
  canceled: '-',
};
/** A run that is in one of these goes on no more. */
export const OVER: readonly Run['status'][] = ['completed', 'failed', 'canceled', 'skipped'];

export function runTable(runs: readonly Run[], io: Io): string {
  const rows = runs.map((run) => [
    run.run_id,
    run.status,
    `${run.progress.closed}/${run.progress.total}`,
    run.formula ?? '',
    run.target ?? '',
    run.source_id ?? '',
    run.started_at === undefined ? '' : age(run.started_at),
    run.title,
  ]);
  return table(['ID', 'STATUS', 'DONE', 'FORMULA', 'TARGET', 'FOR', 'AGE', 'TITLE'], rows, io);
}

export function runFacts(run: Run): string {
  const { last_error: error, progress } = run;
  return facts([
    ['id', run.run_id],
    ['title', run.title],
    ['status', run.status],
    ['progress', `${progress.closed} of ${progress.total} closed, ${progress.active} being worked on`],
    ['formula', run.formula],
    ['scope', `${run.scope.kind} ${run.scope.ref}`],
    ['target', run.target],
    ['for', run.source_id],
    ['error', error === undefined ? undefined : `${error.code}${error.message === undefined ? '' : `: ${error.message}`}`],
    ['started', run.started_at === undefined ? undefined : moment(run.started_at)],
    ['changed', run.updated_at === undefined ? undefined : moment(run.updated_at)],
  ]);
}

/** Steps below those that they are parts of, each with how it is, what it still waits for and, by `reasons`, why it failed. */
export function stepTree(steps: readonly Step[], width?: number, reasons: ReadonlyMap<string, string> = new Map()): string {
  const known = new Map(steps.map((step) => [step.id, step]));
  const below = new Map<string, Step[]>();
  const drains = new Map(steps.flatMap(({ id, ref, units }) => (units === undefined || ref === undefined ? [] : [[ref, id] as const])));
  for (const step of steps) {
    const over = step.parent !== undefined && known.has(step.parent) ? step.parent : (drains.get(drainOf(step)) ?? '');
    below.set(over, [...(below.get(over) ?? []), step]);
  }
  const lines: string[] = [];
  const walk = (over: string, indent: string): void => {
    const items = below.get(over) ?? [];
    for (const [n, step] of items.entries()) {
      const last = n === items.length - 1;
      lines.push(
        cut(
          plain(`${indent}${last ? '└─' : '├─'} ${lineOf(step, known)}${reasons.has(step.id) ? ` (${reasons.get(step.id)})` : ''}`),
          width ?? Infinity,
        ),
      );
      walk(step.id, `${indent}${last ? '   ' : '│  '}`);
    }
  };
  walk('', '');
  return lines.map((line) => `${line}\n`).join('');
}

/** The drain that a step does something for. */
function drainOf({ ref = '', member }: Step): string {
  return member === undefined ? '' : ref.slice(0, ref.lastIndexOf('.unit.'));
}

/** Of a drain, how far it is and what went wrong; of a step of a unit, the bead that it is for. */
export function aboutUnits({ units, member }: Step): string {
  if (units === undefined) return member === undefined ? '' : ` (for ${member})`;
  const lost = units.filter(({ status }) => status !== 'active' && status !== 'completed');
  const over = units.filter(({ status }) => status !== 'active').length;
  const why = lost.map(({ member, status, reason }) => `${member} ${status}${reason === undefined ? '' : `: ${reason}`}`);
  return ` (${over} of ${units.length} units over${why.length === 0 ? '' : `; ${why.slice(0, 3).join('; ')}${why.length > 3 ? '; …' : ''}`})`;
}

/** A whole waits for its parts: nobody has to be told. Beads outside the run are told where nothing in it is in the way; which of several is open the run does not say. */
function lineOf(step: Step, known: ReadonlyMap<string, Step>): string {
  const inside = step.needs
    .flatMap((id) => known.get(id) ?? [])
    .filter(({ status }) => !['completed', 'skipped', 'failed', 'canceled'].includes(status));
  const told = inside.filter((need) => need.parent !== step.id && (step.units === undefined || drainOf(need) !== step.ref));
  const open = inside.length === 0 ? step.needs.filter((id) => !known.has(id)) : told.map(({ id }) => id);
  const owner = step.assignee === undefined ? '' : ` @${step.assignee}`;
  const kind = step.kind === 'gate' ? ', a gate' : '';
  const after = step.status === 'blocked' && open.length > 0 ? ` (after ${open.join(', ')})` : '';
  return `${MARKS[step.status]} ${step.id} [${step.status}${kind}${owner}] ${step.title}${aboutUnits(step)}${after}${saidOf(step)}${opening(step)}`;
}

/** What the last script said that was not content: why, and its last words. */
function saidOf({ check }: Step): string {
  if (check === undefined || check.passed) return '';
  const words = check.output?.trimEnd().split('\n').at(-1) ?? '';
  return ` (check ${check.iteration}: ${check.reason}${words === '' ? '' : `: ${words}`})`;
}

/** What a person does at a gate that the run has come to. */
export function opening({ id, kind, status }: Step): string {
  return kind === 'gate' && status === 'pending' ? ` (\`svc bead close ${id}\` opens it)` : '';
}
