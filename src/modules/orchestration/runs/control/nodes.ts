import type { Outcome, StepFact } from './facts.js';
import type { Status } from './until.js';

/** A step while it is looked at: what is decided about it is known to what is decided next. */
export interface Node {
  readonly fact: StepFact;
  /** Among all steps of the run. */
  readonly place: number;
  readonly needs: readonly string[];
  outcome: Outcome | undefined;
  /** What it hands on. */
  output: string | undefined;
  /** Of a skipped one: what has gone wrong in the first place. */
  cause?: Cause;
}

/** Why a step is skipped, and by whose end. */
export interface Cause {
  readonly reason: string;
  readonly by: string;
}

const WORDS: Readonly<Record<Outcome, string>> = { pass: 'passed', fail: 'failed', skipped: 'was skipped', canceled: 'was canceled' };
export const STATUS: Readonly<Record<Outcome, Status>> = { pass: 'completed', fail: 'failed', skipped: 'skipped', canceled: 'canceled' };

/** The step that speaks for all of them when not all have passed: a failure before everything else. */
export function worst(nodes: readonly Node[]): Node | undefined {
  const counting = nodes.filter((node) => !cleansUp(node));
  for (const outcome of ['fail', 'canceled', 'skipped']) {
    const found = counting.find((node) => node.outcome === outcome);
    if (found !== undefined) return found;
  }
  return undefined;
}

export function told({ fact, outcome }: Node): string {
  return `${fact.step.id} ${WORDS[outcome!]}`;
}

export function causeOf(node: Node): Cause {
  return { reason: told(node), by: node.fact.step.id };
}

/** Done whatever became of the rest, and outside the verdict. */
export function cleansUp({ fact: { step } }: Placed): boolean {
  return step.kind === 'cleanup' || step.scope?.role === 'teardown';
}

/** A step, and what it waits for. */
interface Placed {
  readonly fact: Pick<StepFact, 'step'>;
  readonly needs: readonly string[];
}

/** The step that `step` means after a round: the last one that none of the others waits for, whatever was written last. */
export function lastOf<T extends Placed>(made: readonly T[]): T | undefined {
  const counting = made.filter((each) => !cleansUp(each));
  const waitedFor = new Set(counting.flatMap(({ fact, needs }) => needs.filter((id) => id !== fannedOut(fact))));
  // A fan-out speaks where what it is of would speak.
  return counting.findLast(({ fact }) => !waitedFor.has(fannedOut(fact) ?? fact.step.id) && !waitedFor.has(fact.step.id)) ?? made.at(-1);
}

/** The step whose output a round hands on: a fan-out and a scope have none of their own. */
export function handsOn<T extends Placed>(made: readonly T[]): T | undefined {
  const last = lastOf(made);
  if (last === undefined) return undefined;
  const { step } = last.fact;
  const source = fannedOut(last.fact);
  if (source !== undefined) return made.find(({ fact }) => fact.step.id === source);
  return step.kind === 'scope' ? handsOn(made.filter((each) => each !== last && each.fact.step.scope?.ref === step.id)) : last;
}

function fannedOut({ step: { control } }: Pick<StepFact, 'step'>): string | undefined {
  return control?.kind === 'fanout' ? control.of : undefined;
}

export function append<K, T>(lists: Map<K, T[]>, key: K, value: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
