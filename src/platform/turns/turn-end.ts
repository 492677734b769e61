import { AsyncLocalStorage } from 'node:async_hooks';

/** Callbacks for the end of this turn of the event loop. */
let due: (() => void)[] = [];
/** The callbacks run together, so in the context of no single request. */
const withoutContext = AsyncLocalStorage.snapshot();

/** Calls `work` at the end of this turn of the event loop, together with all that is due then. It must not throw. */
export function atTurnEnd(work: () => void): void {
  if (due.push(work) === 1) setImmediate(endTurn);
}

/** Yields the event loop in long work: resolves in the next turn, after what is due at the end of this one. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => {
      endTurn();
      resolve();
    });
  });
}

function endTurn(): void {
  if (due.length === 0) return;
  const all = due;
  due = [];
  withoutContext(() => all.forEach((work) => work()));
}
