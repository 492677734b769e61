import { useState, type ReactNode } from 'react';
import { partsOf, type DiffLine } from '../lib/diff.js';
import { visible, visibleAll } from '../lib/text.js';
import { Button } from './basics.js';

const LOOKS: Readonly<Record<DiffLine['sign'], string>> = {
  '-': 'bg-badtint text-bad',
  '+': 'bg-goodtint text-good',
  ' ': 'text-muted',
  gap: 'text-muted',
};
const NAMES: Readonly<Record<DiffLine['sign'], string>> = { '-': 'gone: ', '+': 'new: ', ' ': '', gap: '' };
const MARKS: Readonly<Record<DiffLine['sign'], string>> = { '-': '-', '+': '+', ' ': ' ', gap: '⋯' };
/** Lines that are shown at once. */
const MOST = 200;

/** How many lines are new, and how many are gone. */
export function sizeOf(lines: readonly DiffLine[]): string {
  const count = (wanted: DiffLine['sign']): number => lines.filter(({ sign }) => sign === wanted).length;
  return `+${count('+')} −${count('-')}`;
}

/**
 * What an edit has changed, as lines that are gone and lines that are new.
 * @param whole nothing waits to be asked for, or scrolled to within it.
 */
export function Change({ lines, whole = false }: { lines: readonly DiffLine[]; whole?: boolean }): ReactNode {
  const [all, showAll] = useState(whole);
  const shown = all ? lines : lines.slice(0, MOST);
  return (
    <>
      <pre
        tabIndex={0}
        data-change
        className={`words ${whole ? '' : 'max-h-96'} overflow-auto rounded-md border border-line bg-ground py-1 font-mono text-[13px]`}
      >
        {partsOf(shown).map(({ sign, lines: texts }, i) => (
          <span key={i} className={`block px-2.5 ${LOOKS[sign]}`}>
            <span className="sr-only">{NAMES[sign]}</span>
            <span aria-hidden="true" className="inline-block w-4 select-none">
              {MARKS[sign]}
            </span>
            {(whole ? visibleAll : visible)(texts.join(`\n${MARKS[sign]} `))}
          </span>
        ))}
      </pre>
      {shown.length < lines.length && (
        <Button className="mt-2" onClick={() => showAll(true)}>
          Show all
        </Button>
      )}
    </>
  );
}
