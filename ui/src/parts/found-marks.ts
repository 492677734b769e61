import { useEffect, type RefObject } from 'react';

const NAME = 'found';
const MOST = 500;

/** Marks what is searched for in the entries that are drawn: ranges of the browser's own, no elements. */
export function useFoundMarks(within: RefObject<HTMLElement | null>, pattern: RegExp | undefined): void {
  // After each drawing: other entries are in sight then.
  useEffect(() => {
    if (!('highlights' in CSS)) return;
    if (pattern === undefined || within.current === null) CSS.highlights.delete(NAME);
    else CSS.highlights.set(NAME, new Highlight(...rangesIn(within.current, pattern)));
  });
  useEffect(
    () => () => {
      if ('highlights' in CSS) CSS.highlights.delete(NAME);
    },
    [],
  );
}

function rangesIn(box: HTMLElement, pattern: RegExp): Range[] {
  const ranges: Range[] = [];
  for (const entry of box.querySelectorAll('[data-entry]')) {
    const texts = document.createTreeWalker(entry, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode())
      for (const { index, 0: found } of (node.nodeValue ?? '').matchAll(pattern)) {
        if (ranges.length === MOST) return ranges;
        const range = new Range();
        range.setStart(node, index);
        range.setEnd(node, index + found.length);
        ranges.push(range);
      }
  }
  return ranges;
}
