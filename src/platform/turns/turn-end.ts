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

/** So long who works for long rests for those who wait for the database: it answers in less, where it gets a processor. */
const REST_MS = 1;
/** How many wait for the database for somebody who is to be answered. */
let asking = 0;
/** Nobody has begun to wait, or has been answered, since a rest was over in vain: those who wait for long, such as for a lock, are not rested for again. */
let inVain = false;
/** Until then nobody rests again: whoever has rested works as long, so that no flood of questions takes more than half of the time from him. */
let workUntil = -Infinity;
const resting = new Set<() => void>();

/** How many wait for the database. */
export const askingNow = (): number => asking;

/** Somebody who is to be answered waits for the database now, until `endAsking`. */
export function beginAsking(): void {
  asking++;
  inVain = false;
}

export function endAsking(): void {
  asking--;
  inVain = false;
  for (const goOn of resting) goOn();
}

/**
 * The next turn for whoever has work without end, such as feeding streams. While somebody who is to be answered waits for the database it rests
 * for 1 ms, or until one of them has got its rows: where the database has the same processor, or all of them are busy, it would come to answer only when
 * this work is over. It rests for half of the time at most.
 */
export async function restTurn(): Promise<void> {
  const began = performance.now();
  if (asking > 0 && !inVain && began >= workUntil)
    await new Promise<void>((resolve) => {
      const goOn = (): void => {
        clearTimeout(timer);
        resting.delete(goOn);
        const ended = performance.now();
        workUntil = ended + (ended - began);
        resolve();
      };
      const timer = setTimeout(() => {
        inVain = true;
        goOn();
      }, REST_MS);
      resting.add(goOn);
    });
  await nextTurn();
}

function endTurn(): void {
  if (due.length === 0) return;
  const all = due;
  due = [];
  forNobody(() => all.forEach((work) => work()));
}
