import type { LeftOut } from '../../work/work/bead-record.js';
import { append } from './control/nodes.js';

/** What is to be opened with a step, each after those of them that it waits for. */
export interface Behind {
  readonly ids: readonly string[];
  /** One of them that had begun before it was skipped: its rounds stay as they are. */
  readonly begun: string | undefined;
}

/** The steps that come after `id` and were skipped for it; not what another step that has failed has skipped as well. */
export function skippedBehind(id: string, left: readonly LeftOut[]): Behind {
  const after = new Map<string, LeftOut[]>();
  for (const step of left) for (const need of step.needs) append(after, need, step);
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
  const seen = new Set<string>();
  const ids: string[] = [];
  const put = (one: string): void => {
    if (!behind.has(one) || lost.has(one) || seen.has(one)) return;
    seen.add(one);
    needs.get(one)?.forEach(put);
    ids.push(one);
  };
  for (const one of behind) put(one);
  return { ids, begun: left.find((step) => step.begun && behind.has(step.id) && !lost.has(step.id))?.id };
}
