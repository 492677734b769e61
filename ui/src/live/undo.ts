import { useSyncExternalStore } from 'react';

/** What was done a moment ago, and how it is taken back. */
export interface Undoable {
  readonly id: number;
  readonly label: string;
  readonly undo: (() => Promise<unknown>) | undefined;
  readonly failed?: string;
}

const STAYS_MS = 10_000;
let all: readonly Undoable[] = [];
let last = 0;
const listeners = new Set<() => void>();

function set(next: readonly Undoable[]): void {
  all = next;
  for (const tell of listeners) tell();
}

export const useUndoables = (): readonly Undoable[] =>
  useSyncExternalStore(
    (tell) => {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
    () => all,
  );

export const forgetDone = (id: number): void => set(all.filter((one) => one.id !== id));

/** Tells that something is done, for a while; with `undo` it can be taken back meanwhile. */
export function done(label: string, undo?: () => Promise<unknown>): void {
  const id = ++last;
  set([...all.slice(-2), { id, label, undo }]);
  setTimeout(() => forgetDone(id), STAYS_MS);
}

export function takeBack(one: Undoable | undefined): void {
  if (one?.undo === undefined) return;
  forgetDone(one.id);
  one.undo().then(
    () => done(`Taken back: ${one.label}`),
    (error: unknown) => {
      const failed = error instanceof Error ? error.message : 'it has failed';
      set([...all.slice(-2), { id: ++last, label: `Not taken back: ${one.label}`, undo: undefined, failed }]);
    },
  );
}
