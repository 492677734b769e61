import type { ReactNode, Ref } from 'react';
import { Button, Empty } from './basics.js';
import { Loading, Rows } from './page.js';

/** How many there are, or how many of them are shown; with `least` there are at least so many. */
export function countOf(shown: number, total: number, least = false): ReactNode {
  const all = least ? `${total}+` : total;
  return shown < total ? `${shown} of ${all}` : all;
}

interface FilterProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (words: string | undefined) => void;
  readonly box: Ref<HTMLInputElement>;
}

/** Words by which a list is filtered as they are typed. */
export const Filter = ({ label, value, onChange, box }: FilterProps): ReactNode => (
  <input
    ref={box}
    aria-label={label}
    placeholder="Filter"
    value={value}
    onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value)}
    onKeyDown={(event) => {
      if (event.key === 'Escape') event.currentTarget.blur();
    }}
    className="field w-40"
  />
);

interface WhichProps {
  readonly label: string;
  readonly value: string | undefined;
  /** The first is what is shown without a choice. */
  readonly options: readonly (readonly [value: string, name: string])[];
  readonly onChange: (value: string | undefined) => void;
  readonly className?: string;
}

/** Which of the things a list shows; without a choice its address says nothing. */
export const Which = ({ label, value = '', options, onChange, className = 'w-auto' }: WhichProps): ReactNode => (
  <select
    aria-label={label}
    value={value}
    onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value)}
    className={`field ${className}`}
  >
    {options.map(([one, name]) => (
      <option key={one} value={one}>
        {name}
      </option>
    ))}
  </select>
);

interface ListProps<T> {
  readonly label: string;
  /** Undefined until it was read. */
  readonly rows: readonly T[] | undefined;
  readonly failed: boolean;
  readonly row: (item: T) => ReactNode;
  /** Where there is nothing at all: what would be here, and how it comes. */
  readonly none: readonly [title: string, about: ReactNode];
  /** Where a filter leaves nothing. */
  readonly filtered: { readonly title: string; readonly clear: string; readonly onClear: () => void } | undefined;
}

/** A list in whichever state it is: still read, empty, filtered until nothing is left, or its rows. */
export function List<T>({ label, rows, failed, row, none: [title, about], filtered }: ListProps<T>): ReactNode {
  if (rows === undefined) return failed ? null : <Loading />;
  if (rows.length > 0) return <Rows label={label}>{rows.map(row)}</Rows>;
  if (filtered === undefined) return <Empty title={title}>{about}</Empty>;
  return (
    <Empty title={filtered.title}>
      <Button onClick={filtered.onClear}>{filtered.clear}</Button>
    </Empty>
  );
}

/** Under a list that is not drawn to its end. */
export const Left = ({ left, onMore }: { left: number; onMore: () => void }): ReactNode =>
  left > 0 && (
    <p className="flex flex-wrap items-center gap-3 text-sm text-muted">
      {left} more {left === 1 ? 'is' : 'are'} not shown. <Button onClick={onMore}>Show more</Button>
    </p>
  );

interface RowProps {
  readonly id: string;
  /** The keys are at it. */
  readonly here: boolean;
  readonly className?: string;
  readonly children: ReactNode;
  /** What it is, for whoever looks for it: `data-run` … */
  readonly kind: `data-${string}`;
}

export const ListRow = ({ id, here, className = '', children, kind }: RowProps): ReactNode => (
  <li {...{ [kind]: id }} data-row={id} aria-current={here ? 'true' : undefined} className={`aria-[current]:bg-tint ${className}`}>
    {children}
  </li>
);
