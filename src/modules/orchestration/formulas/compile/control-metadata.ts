import semver from 'semver';
import type { Step } from './formula.js';
import { inside, type Issues } from './issues.js';
import type { Control, RecipeStep } from './recipe.js';

/** A step that says nothing. */
export const EMPTY: Pick<RecipeStep, 'description' | 'notes' | 'labels' | 'assignee'> = {
  description: '',
  notes: '',
  labels: [],
  assignee: '',
};

/** Whether a range of compilers refuses the first one and accepts the second. */
export function isGraph(range: string): boolean {
  return !semver.satisfies('1.0.0', range) && semver.satisfies('2.0.0', range);
}

/** Refuses what only a graph can do, in a formula that makes none. */
export function onlyForGraphs(step: Step, issues: Issues): void {
  const used = (['check', 'retry', 'onComplete', 'drain'] as const)
    .filter((key) => step[key] !== undefined)
    .map((key) => (key === 'onComplete' ? 'on_complete' : key));
  const others = [
    ...(step.loop?.until === undefined ? [] : ['loop.until']),
    ...(step.gate?.type === 'condition' ? ['compose.gate'] : []),
    ...(step.metadata['gc.kind'] !== undefined || step.metadata['gc.scope_ref'] !== undefined ? ['metadata'] : []),
  ];
  for (const key of [...used, ...others])
    issues.error(
      key.startsWith('compose') ? step.where : inside(step.where, key),
      'is for formulas that declare [requires] formula_compiler = ">=2.0.0"',
    );
}

/** What a bead says about the part that the run plays for it, under the contract's names. */
export function controlMetadata(control: Control | undefined, step: Step, text: (written: string) => string): Record<string, string> {
  switch (control?.kind) {
    case 'retry':
      return { 'gc.kind': 'retry', 'gc.max_attempts': String(control.max_attempts), 'gc.on_exhausted': control.on_exhausted };
    case 'check':
      return {
        'gc.kind': 'ralph',
        'gc.max_attempts': String(control.max_attempts),
        'gc.check_mode': 'exec',
        'gc.check_path': control.script.file,
        ...(step.check?.timeout === undefined ? {} : { 'gc.check_timeout': text(step.check.timeout) }),
        ...(step.timeout === undefined ? {} : { 'gc.step_timeout': text(step.timeout) }),
      };
    case 'loop':
      return { 'gc.kind': 'loop', 'gc.max_attempts': String(control.max) };
    case 'drain':
      return { 'gc.kind': 'drain', 'gc.drain_formula': control.formula, 'gc.drain_context': control.context };
    default:
      return {};
  }
}
