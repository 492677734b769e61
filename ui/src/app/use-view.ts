import { useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, type RefObject } from 'react';
import { titleOf } from './views.js';

/**
 * The title of the view, with how much waits for a person, and where it is shown. What had the focus goes with its view: whoever has no pointer
 * begins in the next one, and whoever hears the page is told which that is.
 */
export function useView(count: number): { readonly title: string; readonly main: RefObject<HTMLElement | null> } {
  const title = titleOf(useRouterState({ select: ({ location }) => location.pathname }));
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ''}${title}`;
  }, [count, title]);
  const main = useRef<HTMLElement>(null);
  const shown = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  const before = useRef(shown);
  useEffect(() => {
    const isFirst = before.current === undefined;
    before.current = shown;
    if (!isFirst && document.activeElement === document.body) main.current?.focus({ preventScroll: true });
  }, [shown]);
  return { title, main };
}
