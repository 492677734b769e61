import { useLayoutEffect, useRef } from 'react';

const focus = (one: HTMLElement | null | undefined): void => one?.focus({ preventScroll: true });
const rowOf = (id: string): Element | null => document.querySelector(`[data-row="${CSS.escape(id)}"]`);
/** What opens a row. */
const openerIn = (row: Element | null): HTMLElement | null =>
  row?.querySelector<HTMLElement>('[data-open]') ?? row?.querySelector<HTMLElement>('button, a') ?? null;
/** A list that draws what is in sight has the focus as a whole: its rows come and go. */
const wholeOf = (one: Element | null): HTMLElement | null => one?.closest<HTMLElement>('[data-beads], [data-column] [role=list]') ?? null;

/** Where nobody has gone elsewhere: to the row that was shown, else to what opened it, else to the view. */
export function focusBack(row: string | undefined, opener: Element | null): void {
  const places = [row === undefined ? null : openerIn(rowOf(row)), wholeOf(opener), opener, document.getElementById('main')];
  for (const place of places) {
    // What is gone, or cannot be seen, takes none.
    if (document.activeElement !== document.body) return;
    if (place instanceof HTMLElement) focus(place);
  }
}

/** The keys have gone on from a row that has the focus: what Enter does next is for the row where they are. */
export function focusAlong(row?: string): void {
  const now = document.activeElement;
  if (row !== undefined && now !== null && now.closest('[data-row]') !== null) focus(openerIn(rowOf(row)));
  else focus(wholeOf(now));
}

/** Once what calls it is gone the focus is where it was opened; `row` is the row of a list that it shows, where it is of one. */
export function useFocusBack(row: string | undefined): void {
  const shown = useRef(row);
  shown.current = row;
  useLayoutEffect(() => {
    const opener = document.activeElement;
    // The list may be hidden until all of this change is made.
    return () => queueMicrotask(() => focusBack(shown.current, opener));
  }, []);
}
