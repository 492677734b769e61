import type { RecipeEdge, RecipeStep } from '../../formulas/compile/recipe.js';

export type Outcome = 'pass' | 'fail' | 'skipped' | 'canceled';

/** What a step has left behind: the words of whoever closed it, as its bead has them. */
export interface Ended {
  /** `gc.outcome`; absent when nobody said one. */
  readonly word?: string;
  /** `gc.failure_class`. */
  readonly failure?: string;
  /** `gc.failure_reason`. */
  readonly reason?: string;
  /** `gc.output_json`. */
  readonly output?: string;
}

/** What a script has said about a round of a check. */
export interface Verdict {
  readonly round: number;
  readonly passed: boolean;
  readonly reason: string;
  /** It could not be run: what was to be checked was not. */
  readonly broken?: true;
}

/** A verdict as it is kept, with what people want to see of it. */
export interface StoredVerdict extends Verdict {
  readonly exit_code?: number | null;
  readonly duration_ms?: number;
  /** The end of what the script wrote. */
  readonly output?: string;
}

/** What a drain does for one member of the convoy that the run works on. */
export interface UnitFact {
  /** From 1. */
  readonly n: number;
  readonly member: string;
  /** The convoy that holds the member and nothing else, or is it; absent where the item formula asks for none. */
  readonly convoy?: string;
  /** Its drain has the member for itself, until it is over or the drain is closed. */
  readonly held?: true;
  /** Present once it is over. */
  readonly outcome?: Outcome;
}

/** A step of a run, as it is now. */
export interface StepFact {
  readonly step: RecipeStep;
  /** The step that made it in one of its rounds, and which. */
  readonly of?: string;
  readonly round?: number;
  readonly started: boolean;
  /** It waits for a bead outside the run that is open. */
  readonly waits?: true;
  /** Present once it is closed. */
  readonly ended?: Ended;
  /** Of a check: what its script said last. */
  readonly verdict?: Verdict;
  /** Of a check: the round whose script waits or runs. */
  readonly asked?: number;
  /** Of a drain: its units, once it has taken its members. */
  readonly units?: readonly UnitFact[];
}

/** A run without its root: steps after those that they wait for, what rounds have added after all others. */
export interface RunFacts {
  readonly steps: readonly StepFact[];
  /** Who waits for whom; that a step waits for its own rounds is not among them. */
  readonly edges: readonly RecipeEdge[];
}

/** What a transaction has to do for a run, in this order. */
export type Act =
  | {
      readonly do: 'close';
      readonly step: string;
      readonly outcome: Outcome;
      readonly reason: string;
      /** Of what is skipped: the step whose end has it skipped. */
      readonly by?: string;
      /** `hard_fail`, `soft_fail`, `controller_error`, `control_quarantined`: how a control has come to its outcome. */
      readonly disposition?: string;
      /** What it hands on, from the round that passed. */
      readonly output?: string;
      /** `gc.failure_reason`, where that is more than the reason. */
      readonly failure?: string;
    }
  /** Adds a round; `control` waits for all of its steps. */
  | { readonly do: 'add'; readonly control: string; readonly round: number; readonly fragment: Rounds }
  /** Has the script of a check run for a round, about a step of it; what it says comes back as its verdict. */
  | { readonly do: 'script'; readonly control: string; readonly round: number; readonly subject: string }
  /** Takes the members of the convoy that the run works on; they come back as the units of the drain. */
  | { readonly do: 'drain'; readonly control: string }
  /** Keeps how a unit has ended, and lets its member go. */
  | { readonly do: 'settle'; readonly control: string; readonly unit: number; readonly outcome: Outcome; readonly reason: string }
  | { readonly do: 'finish'; readonly outcome: 'pass' | 'fail' | 'canceled'; readonly reason: string };

export type Finish = Extract<Act, { do: 'finish' }>;

/** The steps of one round, or of all items, with those that wait for each other. */
export interface Rounds {
  readonly steps: readonly { readonly step: RecipeStep; readonly round: number }[];
  readonly edges: readonly RecipeEdge[];
}

/** How many rounds each control has begun since somebody has done something, by the id of its step. */
export type Begun = ReadonlyMap<string, number>;
