import type { Drain, GateType, Retry } from './formula.js';
import type { Until } from './until.js';

/** A dependency: `to` waits for `from`. */
export interface RecipeEdge {
  readonly from: string;
  readonly to: string;
  readonly kind: 'blocks' | 'waits-for';
}

/**
 * Steps that a run may make more than once: ids and texts hold `{iteration}` for the round, or `{index}`, `{item}` and
 * `{item.<field>}` for the item, and nothing else that is still to be replaced.
 */
export interface Fragment {
  readonly steps: readonly RecipeStep[];
  readonly edges: readonly RecipeEdge[];
}

/** What a run does about a step beside waiting for it to be closed. */
export type Control =
  | { readonly kind: 'gate'; readonly type: GateType; readonly id: string; readonly timeout_ms?: number; readonly until?: Until }
  | ({ readonly kind: 'retry' } & Retry)
  | {
      readonly kind: 'check';
      readonly max_attempts: number;
      readonly script: { readonly file: string; readonly sha256: string };
      readonly script_timeout_ms?: number;
      readonly step_timeout_ms?: number;
      /** What one attempt consists of, when that is more than the step itself. */
      readonly body?: Fragment;
    }
  | { readonly kind: 'loop'; readonly until: Until; readonly max: number; readonly body: Fragment }
  | { readonly kind: 'fanout'; readonly of: string; readonly for_each: string; readonly sequential: boolean; readonly body: Fragment }
  | ({
      readonly kind: 'drain';
      /** What is done for each member: the item formula. Its ids begin with `prefix`, which each unit has its own instead of. */
      readonly body: Fragment;
      readonly prefix: string;
      /** Names in the body that the run gives a value: what the unit is for, and what nobody could tell when it was compiled. */
      readonly at_run: readonly string[];
    } & Drain);

export interface RecipeStep {
  /** `<formula>.<step>`, `<formula>.<parent>.<child>`. */
  readonly id: string;
  /** The step that this one is part of; absent for the root and, with the second compiler, for steps right below it. */
  readonly parent?: string;
  readonly kind: 'workflow' | 'wisp' | 'molecule' | 'task' | 'epic' | 'scope' | 'cleanup' | Control['kind'];
  /** The type of its bead. */
  readonly type: string;
  readonly title: string;
  readonly description: string;
  readonly notes: string;
  readonly priority?: number;
  readonly labels: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly assignee: string;
  readonly scope?: { readonly ref: string; readonly role: string; readonly abort: boolean };
  readonly control?: Control;
}

/** What a formula becomes with values for its variables: everything that a run needs, and nothing that is stored. */
export interface Recipe {
  readonly formula: string;
  /** 1: a tree whose steps agents close. 2: a graph that the service drives. */
  readonly compiler: 1 | 2;
  readonly phase: 'liquid' | 'vapor';
  /** Whether a run consists of its root alone. */
  readonly root_only: boolean;
  /** The root first, every other one after those that it waits for. */
  readonly steps: readonly RecipeStep[];
  readonly edges: readonly RecipeEdge[];
  /** The value of every variable that has one. */
  readonly vars: Readonly<Record<string, string>>;
  /** Names whose `{{name}}` is still there: the run replaces them. */
  readonly at_run: readonly string[];
  /** Required variables without a value; only a preview may have some. */
  readonly missing: readonly string[];
  /** The files that it is made of, the formula's own first. */
  readonly sources: readonly { readonly name: string; readonly file: string; readonly sha256: string }[];
}

/** Whether a run of this recipe decides something itself, beside waiting for its steps. Gates that others open decide nothing. */
export function decides({ compiler, root_only, steps }: Recipe): boolean {
  return (
    compiler === 2 &&
    !root_only &&
    steps.some(
      ({ control, kind }) =>
        kind === 'scope' || kind === 'cleanup' || (control !== undefined && (control.kind !== 'gate' || control.type === 'condition')),
    )
  );
}
