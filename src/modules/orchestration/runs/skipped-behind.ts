import type { BeadRecord, LeftOut } from '../../work/work/bead-record.js';
import { SKIPPED_FOR } from '../../work/work/bead-record.js';
import { append } from './control/nodes.js';

/** What is to be opened with a step, each after those of them that it waits for. */
export interface Behind {
  readonly ids: readonly string[];
  /** One of them that had begun before what it waits for was opened again: its rounds stay as they are. */
  readonly begun: string | undefined;
}

/** What a step says that its run skips, for the end of `by` where that is to be opened with it. */
export const skippedFor = (by: string | undefined, reason: string): Record<string, string> => ({
  'gc.outcome': 'skipped',
  ...(by === undefined ? {} : { [SKIPPED_FOR]: by }),
  close_reason: reason,
});

/**
 * The steps that were skipped for `id`: those that come after it, and what its own end has skipped, as the items of a control. Not what another step has skipped
 * as well, nor what somebody has skipped himself.
 */
export function skippedBehind({ id, ref }: Pick<BeadRecord, 'id' | 'ref'>, left: readonly LeftOut[]): Behind {
  const named = new Map([[ref, id], ...left.map((step) => [step.ref, step.id] as const)]);
  const after = new Map<string, LeftOut[]>();
  for (const step of left) {
    const by = step.skipped ? (named.get(step.told) ?? step.by) : null;
    for (const one of new Set(by === null ? step.needs : [...step.needs, by])) append(after, one, step);
  }
  const reach = (from: readonly string[]): Set<string> => {
    const reached = new Set<string>();
    // It grows on the way.
    const waiting = [...from];
    for (const one of waiting)
      for (const step of after.get(one) ?? []) {
        if (reached.has(step.id)) continue;
        reached.add(step.id);
        waiting.push(step.id);
      }
    return reached;
  };
  const behind = reach([id]);
  const lost = reach(left.filter((step) => !step.skipped && step.id !== id && !step.cleans).map((step) => step.id));
  const needs = new Map(left.map((step) => [step.id, step.needs]));
  const ids = new Set<string>();
  const seen = new Set<string>();
  const put = (one: string): void => {
    if (!behind.has(one) || lost.has(one) || seen.has(one)) return;
    seen.add(one);
    needs.get(one)?.forEach(put);
    ids.add(one);
  };
  for (const one of behind) put(one);
  // What its own end has skipped goes on; what is done again before it would find its rounds done.
  const again = (one: string): boolean => one === id || ids.has(one);
  return { ids: [...ids], begun: left.find((step) => step.begun && ids.has(step.id) && step.needs.some(again))?.id };
}
