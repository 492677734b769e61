import type { Condition } from './condition.js';
import type { Until } from './until.js';

/** Where something of a formula was written. */
export interface Where {
  readonly file: string;
  /** In dotted form, such as `steps[0].title`. */
  readonly key: string;
}

/** The file of a formula, as it is handed to the compiler. */
export interface FormulaSource {
  readonly name: string;
  /** As in `Issue.file`. */
  readonly file: string;
  /** SHA-256 of its bytes. */
  readonly sha256: string;
  readonly text: string;
}

export type VarType = 'string' | 'int' | 'bool';

export interface VarDef {
  readonly name: string;
  readonly where: Where;
  readonly description?: string;
  /** An empty text is a default as well. */
  readonly default?: string;
  readonly required: boolean;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly type: VarType;
}

/** What a gate waits for: so long, a person, a message, the end of a run, or a condition of the run that it stands in. */
export type GateType = 'timer' | 'human' | 'mail' | 'run' | 'condition';

export interface Gate {
  readonly type: GateType;
  /** What is waited for, by type: a name that people see, an address, a run's id; empty for a timer. */
  readonly id: string;
  /** As it is written: how long a timer takes, or after how long the others fail. */
  readonly timeout?: string;
  readonly until?: Until;
}

export interface Loop {
  readonly where: Where;
  readonly count?: number;
  readonly range?: string;
  readonly var?: string;
  readonly until?: Until;
  readonly max?: number;
  readonly body: readonly Step[];
}

export interface Check {
  readonly max_attempts: number;
  readonly path: string;
  readonly timeout?: string;
}

export interface Retry {
  readonly max_attempts: number;
  readonly on_exhausted: 'hard_fail' | 'soft_fail';
}

export interface OnComplete {
  readonly for_each: string;
  readonly bond: string;
  readonly vars: Readonly<Record<string, string>>;
  readonly sequential: boolean;
}

export interface Drain {
  readonly formula: string;
  readonly context: 'separate' | 'shared';
  readonly member_access: 'read' | 'exclusive';
  readonly max_units: number;
  readonly on_item_failure: 'continue' | 'skip_remaining';
  readonly continuation_group?: string;
}

/** A step: as it is written, and on its way into a recipe. Ids are those of its formula. */
export interface Step {
  readonly where: Where;
  readonly id: string;
  readonly title: string;
  readonly description: string;
  /** A file beside the formula, until it is read. */
  readonly descriptionFile?: string;
  readonly notes: string;
  readonly type: string;
  readonly priority?: number;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  /** `depends_on` and `needs`. */
  readonly needs: readonly string[];
  /** The step whose children are waited for too. */
  readonly waitsFor?: string;
  readonly assignee: string;
  readonly expand?: string;
  readonly expandVars: Readonly<Record<string, string>>;
  readonly condition?: Condition;
  readonly children: readonly Step[];
  readonly gate?: Gate;
  /** It is its gate and nothing else, and stands before what has replaced a step. */
  readonly isGate?: true;
  readonly loop?: Loop;
  readonly check?: Check;
  readonly retry?: Retry;
  readonly onComplete?: OnComplete;
  readonly drain?: Drain;
  /** As it is written. */
  readonly timeout?: string;
}

export interface Splice {
  readonly where: Where;
  /** The target of an expand, the glob of a map. */
  readonly target: string;
  readonly with: string;
  readonly vars: Readonly<Record<string, string>>;
}

export interface BondPoint {
  readonly where: Where;
  readonly id: string;
  readonly after?: string;
  readonly before?: string;
  readonly parallel: boolean;
}

export interface Compose {
  readonly expand: readonly Splice[];
  readonly map: readonly Splice[];
  readonly branch: readonly { readonly where: Where; readonly from: string; readonly steps: readonly string[]; readonly join: string }[];
  readonly gate: readonly { readonly where: Where; readonly before: string; readonly until: Until }[];
  readonly aspects: readonly { readonly where: Where; readonly name: string }[];
  readonly bondPoints: readonly BondPoint[];
}

/** Steps that are put before and after others. */
export interface Advice {
  readonly where: Where;
  readonly target: string;
  readonly before: readonly Step[];
  readonly after: readonly Step[];
}

/** A formula as its file says it, or as it is with its parents. */
export interface Formula {
  readonly source: FormulaSource;
  readonly name: string;
  readonly description: string;
  readonly type: 'workflow' | 'expansion' | 'aspect';
  /** Ranges of compilers, each with its place: its own, and those of parents. */
  readonly compilers: readonly { readonly where: Where; readonly range: string }[];
  readonly extends: readonly { readonly where: Where; readonly name: string }[];
  readonly vars: ReadonlyMap<string, VarDef>;
  readonly steps: readonly Step[];
  readonly template: readonly Step[];
  readonly compose: Compose;
  readonly advice: readonly Advice[];
  readonly phase?: 'liquid' | 'vapor';
  readonly pour: boolean;
  readonly catalog: { readonly name?: string; readonly description?: string };
  readonly metadata: Readonly<Record<string, unknown>>;
}
