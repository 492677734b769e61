import { useEffect, useState, type RefObject } from 'react';

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
