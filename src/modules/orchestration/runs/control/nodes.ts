import type { Outcome, StepFact } from './facts.js';
import type { Status } from './until.js';

/** A step while it is looked at: what is decided about it is known to what is decided next. */
export interface Node {
  readonly fact: StepFact;
  readonly needs: readonly string[];
  outcome: Outcome | undefined;
  /** What it hands on. */
  output: string | undefined;
  /** Of a skipped one: what has gone wrong in the first place. */
  cause?: string;
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

/** Done whatever became of the rest, and outside the verdict. */
export function cleansUp({ fact: { step } }: { readonly fact: StepFact }): boolean {
  return step.kind === 'cleanup' || step.scope?.role === 'teardown';
}

export function append<K, T>(lists: Map<K, T[]>, key: K, value: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
