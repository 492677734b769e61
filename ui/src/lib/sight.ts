import { useEffect, useRef, useState, type RefObject } from 'react';

/** Somebody who scrolls finds it read. */
const NEAR = '600px';

/** Whether it was ever in sight, or near it. */
export function useSeen(element: RefObject<Element | null>, sure: boolean): boolean {
  const [seen, see] = useState(sure);
  useEffect(() => {
    const one = element.current;
    if (seen || one === null) return undefined;
    if (sure) return see(true);
    const watch = new IntersectionObserver((all) => all.some(({ isIntersecting }) => isIntersecting) && see(true), {
      rootMargin: NEAR,
      scrollMargin: NEAR,
    });
    watch.observe(one);
    return () => watch.disconnect();
  }, [seen, sure]);
  return seen;
}

/** Whether it is in sight now, whatever scrolls around it. */
function isInSight(one: Element): boolean {
  const { top, bottom } = one.getBoundingClientRect();
  for (let box = one.parentElement; box !== null; box = box.parentElement) {
    if (getComputedStyle(box).overflowY === 'visible') continue;
    const room = box.getBoundingClientRect();
    if (bottom < room.top || top > room.bottom) return false;
  }
  return bottom >= 0 && top <= innerHeight;
}

/** Marks for the beginning and the end of what is to be read, and the first of them that was never in sight. */
export function useEnds(): {
  readonly ends: readonly [RefObject<HTMLSpanElement | null>, RefObject<HTMLSpanElement | null>];
  readonly unread: () => Element | undefined;
} {
  const [first, last] = [useRef<HTMLSpanElement>(null), useRef<HTMLSpanElement>(null)];
  const read = useRef(new WeakSet<Element>());
  useEffect(() => {
    const marks = [first.current, last.current].filter((one) => one !== null);
    if (marks.every((one) => read.current.has(one))) return undefined;
    const watch = new IntersectionObserver((all) => {
      for (const { isIntersecting, target } of all) if (isIntersecting) read.current.add(target);
    });
    for (const one of marks) watch.observe(one);
    return () => watch.disconnect();
  });
  // An observer tells a frame late.
  const unread = (): Element | undefined =>
    [first.current, last.current].filter((one) => one !== null).find((one) => !read.current.has(one) && !isInSight(one));
  return { ends: [first, last], unread };
}
