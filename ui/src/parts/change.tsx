import { useState, type ReactNode } from 'react';
import type { Schemas } from '../api/types.js';
import { diffOf, type DiffLine } from '../lib/diff.js';
import { visible } from '../lib/text.js';
import { Button } from './basics.js';

const LOOKS: Readonly<Record<DiffLine['sign'], string>> = {
  '-': 'bg-badtint text-bad',
  '+': 'bg-goodtint text-good',
  ' ': 'text-muted',
  gap: 'text-muted',
};
const NAMES: Readonly<Record<DiffLine['sign'], string>> = { '-': 'gone: ', '+': 'new: ', ' ': '', gap: '' };
/** Lines that are shown at once. */
const MOST = 200;

/** What a tool has changed, where it says so: its own parts of it, or what two texts differ in. */
export function changeOf(structured: Schemas['SessionStructuredToolResult'] | undefined): readonly DiffLine[] | undefined {
  if (structured?.kind !== 'edit') return undefined;
  const { patch_hunks: hunks, old_string: before, new_string: after } = structured;
  if (hunks === undefined || hunks === null || hunks.length === 0)
    return before === undefined && after === undefined ? undefined : diffOf(before ?? '', after ?? '');
  return hunks.flatMap(({ lines }, i): DiffLine[] => [
    ...(i === 0 ? [] : [{ sign: 'gap' as const, text: '' }]),
    ...(lines ?? []).map((line): DiffLine => {
      const sign = line.startsWith('+') ? '+' : line.startsWith('-') ? '-' : ' ';
      return { sign, text: line.slice(1) };
    }),
  ]);
}

/** How many lines are new, and how many are gone. */
export function sizeOf(lines: readonly DiffLine[]): string {
  const count = (wanted: DiffLine['sign']): number => lines.filter(({ sign }) => sign === wanted).length;
  return `+${count('+')} −${count('-')}`;
}

/** What an edit has changed, as lines that are gone and lines that are new. */
export function Change({ lines }: { lines: readonly DiffLine[] }): ReactNode {
  const [all, showAll] = useState(false);
  const shown = all ? lines : lines.slice(0, MOST);
  return (
    <>
      <pre
        tabIndex={0}
        data-change
        className="words max-h-96 overflow-auto rounded-md border border-line bg-ground py-1 font-mono text-[13px]"
      >
        {shown.map(({ sign, text }, i) => (
          <span key={i} className={`block px-2.5 ${LOOKS[sign]}`}>
            <span className="sr-only">{NAMES[sign]}</span>
            <span aria-hidden="true" className="inline-block w-4 select-none">
              {sign === 'gap' ? '⋯' : sign}
            </span>
            {visible(text)}
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
