import { useEffect, useRef, useState } from 'react';
import { focusAlong, focusBack } from '../lib/focus-back.js';
import { useKeys } from '../lib/keys.js';

/** `j`, `k`, `o`, Enter and Escape in a list of things with ids, of which one may be open beside it. Gives the one that the keys are at. */
export function useListKeys(
  name: string,
  order: readonly string[],
  open: string | undefined,
  pick: (id: string | undefined, replace?: boolean) => void,
): string | undefined {
  const [chosen, choose] = useState<string>();
  const at = Math.max(0, order.indexOf(chosen ?? open ?? ''));
  const move = (by: number): void => {
    const next = order[Math.max(0, Math.min(order.length - 1, at + by))];
    if (next === undefined) return;
    choose(next);
    document.querySelector(`[data-row="${CSS.escape(next)}"]`)?.scrollIntoView({ block: 'nearest' });
    focusAlong(next);
    if (open !== undefined) pick(next, true);
  };
  // What was open may stand in its row, and have had the focus.
  const shown = useRef(open);
  useEffect(() => {
    if (shown.current !== undefined && open === undefined) focusBack(shown.current, null);
    shown.current = open;
  }, [open]);
  useKeys(name, [
    { keys: 'j', label: 'next', repeats: true, run: () => move(1) },
    { keys: 'k', label: 'previous', repeats: true, run: () => move(-1) },
    { keys: 'o', label: 'open', run: () => pick(order[at]) },
    { keys: 'Enter', label: 'open', run: () => pick(order[at]) },
    { keys: 'Escape', label: 'close it', run: () => pick(undefined) },
  ]);
  return order[at];
}
