import { isDeeper } from '../../../../platform/collections/nesting.js';
import type { Ended, Outcome } from './facts.js';

const OUTCOMES: ReadonlySet<string> = new Set<Outcome>(['pass', 'fail', 'skipped', 'canceled']);

/** How a step ended. Who closes one and says nothing has done it. */
export function outcomeOf({ word }: Ended): Outcome {
  return word !== undefined && OUTCOMES.has(word) ? (word as Outcome) : 'pass';
}

export type Attempt = { readonly result: 'pass' | 'transient' | 'hard' | 'canceled'; readonly reason: string };

/** How an attempt ended: a retry is told more than others, because it decides whether to try again. */
export function attemptOf(ended: Ended, needsOutput: boolean): Attempt {
  const { word, failure, reason } = ended;
  if (word === undefined || word === '') return { result: 'transient', reason: 'missing_outcome' };
  if (word === 'canceled') return { result: 'canceled', reason: reason ?? 'canceled' };
  if (word === 'skipped') return { result: 'hard', reason: reason ?? 'skipped' };
  if (word === 'fail')
    return { result: failure === undefined || failure === '' || failure === 'hard' ? 'hard' : 'transient', reason: reason ?? 'failed' };
  if (word !== 'pass') return { result: 'transient', reason: 'invalid_outcome_value' };
  if (failure !== undefined && failure !== '') return { result: 'transient', reason: 'pass_with_failure_metadata' };
  if (!needsOutput) return { result: 'pass', reason: 'passed' };
  if (ended.output === undefined || ended.output === '') return { result: 'transient', reason: 'missing_required_output_json' };
  return parsed(ended.output) === undefined
    ? { result: 'transient', reason: 'invalid_required_output_json' }
    : { result: 'pass', reason: 'passed' };
}

/** Levels of what a step hands on: more than reports have, and far fewer than end the stack of whoever writes it again, here or in Postgres. */
const MAX_DEPTH = 100;

/** The value that a step handed on; undefined when it is no JSON, or so deep that to write it again would end the run's transaction. */
export function parsed(output: string | undefined): { readonly value: unknown } | undefined {
  if (output === undefined) return undefined;
  try {
    const value = JSON.parse(output) as unknown;
    return isDeeper(value, MAX_DEPTH) ? undefined : { value };
  } catch {
    return undefined;
  }
}

/** What stands at a path of members and indexes; undefined when nothing does. */
export function at(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return found;
}
