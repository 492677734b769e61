import { SKIPPED_FOR, type BeadRecord, type LeftOut } from '../../work/work/bead-record.js';
import { append } from './control/nodes.js';

/** What is to be opened with a step. */
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
 * as well, nor what somebody has skipped himself, nor members of a scope that stays as it has ended: they wait for that one, as it would wait for them.
 */
export function skippedBehind({ id, ref }: Pick<BeadRecord, 'id' | 'ref'>, left: readonly LeftOut[]): Behind {
  const named = new Map([[ref, id], ...left.map((step) => [step.ref, step.id] as const)]);
  const after = new Map<string, LeftOut[]>();
  // What cleans up does so behind a scope that has ended, too.
  const waitsFor = ({ needs, scope, cleans }: LeftOut): readonly string[] => {
    const around = scope === null || cleans ? undefined : named.get(scope);
    return around === undefined ? needs : [...needs, around];
  };
  for (const step of left) {
    const by = step.skipped ? (named.get(step.told) ?? step.by) : null;
    for (const one of new Set(by === null ? waitsFor(step) : [...waitsFor(step), by])) append(after, one, step);
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
  const ids = new Set([...behind].filter((one) => !lost.has(one)));
  // What its own end has skipped goes on; what is done again before it would find its rounds done.
  const again = (one: string): boolean => one === id || ids.has(one);
  return { ids: [...ids], begun: left.find((step) => step.begun && ids.has(step.id) && waitsFor(step).some(again))?.id };
}
