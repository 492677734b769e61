import { AsyncLocalStorage } from 'node:async_hooks';

/** What is due at the end of this turn of the event loop. */
let due: (() => void)[] = [];
/** It is done for all that asked for it, and for none of them. */
const forNobody = AsyncLocalStorage.snapshot();

/** Does something at the end of this turn of the event loop, together with whatever else is due then. It must not throw. */
export function atTurnEnd(work: () => void): void {
  if (due.push(work) === 1) setImmediate(endTurn);
}

/** Waits for the next turn, for whoever works for long and lets others go first: also what is due at the end of this one. */
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
  forNobody(() => all.forEach((work) => work()));
}
