import { Link, type LinkProps } from '@tanstack/react-router';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { useStreamState } from '../../app/connection.js';
import { useKeys } from '../../lib/keys.js';
import { streamOf } from '../../live/use-list.js';
import { Age, Button, Problem } from '../../parts/basics.js';
import { CityPaused } from '../../parts/city-paused.js';
import { WhileRunning } from '../../parts/city-stopped.js';
import type { Reading } from './read.js';

interface FrameProps {
  readonly title: string;
  readonly about?: ReactNode;
  /** A view of a city shows nothing while that does not run. */
  readonly city?: string;
  readonly actions?: ReactNode;
  readonly tabs?: ReactNode;
  readonly wide?: boolean;
  readonly children: ReactNode;
}

/** A view of administration: its name, what can be done in it, and rows that `j` and `k` go through. */
export function Frame({ title, about, city, actions, tabs, wide = false, children }: FrameProps): ReactNode {
  const body = useRef<HTMLDivElement>(null);
  const stream = useStreamState(city === undefined ? undefined : streamOf(city));
  const step = (by: number): void => {
    const rows = [...(body.current?.querySelectorAll<HTMLElement>('[data-row]') ?? [])];
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const next = rows[at === -1 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + by))];
    next?.focus();
    next?.scrollIntoView({ block: 'nearest' });
  };
  useKeys(title, [
    { keys: 'j', label: 'next row', repeats: true, run: () => step(1) },
    { keys: 'k', label: 'previous row', repeats: true, run: () => step(-1) },
    {
      keys: 'o',
      label: 'open the row',
      run: () => document.activeElement?.closest('[data-row]')?.querySelector<HTMLElement>('[data-open]')?.click(),
    },
    { keys: '/', label: 'filter', run: () => body.current?.parentElement?.querySelector<HTMLElement>('[data-filter]')?.focus() },
  ]);
  const width = wide ? 'max-w-7xl' : 'max-w-5xl';
  const stopped = stream?.kind === 'missing';
  const shown = <div className={`mx-auto flex flex-col gap-4 p-4 md:px-8 md:py-6 ${width}`}>{children}</div>;
  return (
    <div className="flex h-full flex-col">
      <header className="border-b border-line bg-panel">
        <div className={`mx-auto px-4 pt-2.5 md:px-8 ${width}`}>
          <div className="flex flex-wrap items-center gap-x-3 gap-y-2 pb-2.5">
            <div className="min-w-0">
              <h1 className="font-semibold">{title}</h1>
              {about !== undefined && <div className="text-xs text-muted">{about}</div>}
            </div>
            {!stopped && actions !== undefined && <div className="ml-auto flex flex-wrap justify-end gap-2">{actions}</div>}
          </div>
          {stream?.kind === 'paused' && city !== undefined && <CityPaused city={city} className="pb-2" />}
          {!stopped && tabs}
        </div>
      </header>
      {/* Where there is nothing to focus, the keys that scroll need it. */}
      <div ref={body} tabIndex={0} role="group" aria-label={title} className="min-h-0 flex-1 overflow-auto">
        {city === undefined ? shown : <WhileRunning city={city}>{shown}</WhileRunning>}
      </div>
    </div>
  );
}

interface Tab {
  readonly name: string;
  readonly label: string;
  readonly count?: number | undefined;
}

/** Parts of a view: each is an address. */
export function Tabs({ now, tabs, link }: { now: string; tabs: readonly Tab[]; link: (name: string) => LinkProps }): ReactNode {
  return (
    <nav aria-label="Parts of this view" className="-mb-px flex gap-4 overflow-x-auto">
      {tabs.map(({ name, label, count }) => (
        <Link
          key={name}
          {...link(name)}
          activeOptions={{ exact: true, includeSearch: true }}
          aria-current={name === now ? 'page' : undefined}
          className="whitespace-nowrap border-b-2 border-transparent px-0.5 pb-2 text-sm text-muted hover:text-ink aria-[current]:border-accent aria-[current]:font-medium aria-[current]:text-accent"
        >
          {label}
          {count !== undefined && <span className="ml-1.5 tabular-nums">{count}</span>}
        </Link>
      ))}
    </nav>
  );
}

interface ShownProps<T> {
  readonly of: Reading<T>;
  readonly children: (data: T) => ReactNode;
}

/** What was read; while nothing was, that; and what is wrong with the last read beside what was there before it. */
export function Shown<T>({ of: { data, error, asOf, again }, children }: ShownProps<T>): ReactNode {
  if (data === undefined) return error === undefined ? <Waiting /> : <Problem error={error} onRetry={again} />;
  return (
    <>
      {error !== undefined && <Problem error={error} onRetry={again} asOf={asOf} />}
      {children(data)}
    </>
  );
}

/** Where rows will be, when they take long enough that somebody wonders. */
function Waiting(): ReactNode {
  const [seen, see] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => see(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-2">
      {seen && [0, 1, 2].map((n) => <div key={n} className="h-12 rounded-lg bg-raised" />)}
    </div>
  );
}

/** One row of a list. */
export const Row = ({ name, children }: { name: string; children: ReactNode }): ReactNode => (
  <li data-row={name} tabIndex={-1} className="flex flex-col gap-2 rounded-xl border border-line bg-panel px-4 py-3">
    {children}
  </li>
);

export const Rows = ({ label, children }: { label: string; children: ReactNode }): ReactNode => (
  <ul aria-label={label} className="flex flex-col gap-2">
    {children}
  </ul>
);

export const Section = ({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }): ReactNode => (
  <section aria-label={title} className="flex flex-col gap-2">
    <div className="flex flex-wrap items-center gap-3">
      <h2 className="text-sm font-semibold">{title}</h2>
      {actions !== undefined && <div className="ml-auto flex flex-wrap gap-2">{actions}</div>}
    </div>
    {children}
  </section>
);

export type Fact = readonly [name: string, value: ReactNode];

/** Names and values; what has no value is left out. */
export function Facts({ facts }: { facts: readonly Fact[] }): ReactNode {
  return (
    <dl className="grid grid-cols-[minmax(6rem,auto)_1fr] gap-x-6 gap-y-1 text-sm">
      {facts
        .filter(([, value]) => value !== undefined && value !== null && value !== '')
        .map(([name, value]) => (
          <div key={name} className="col-span-2 grid grid-cols-subgrid">
            <dt className="text-muted">{name}</dt>
            <dd className="words min-w-0">{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** When something was, in words. */
export const Ago = ({ at }: { at: string }): ReactNode => (
  <>
    <Age at={at} /> ago
  </>
);

/** More pages of a list than the first. */
export const More = ({ onMore, busy }: { onMore: () => void; busy: boolean }): ReactNode => (
  <Button className="self-center" disabled={busy} onClick={onMore}>
    {busy ? 'Reading …' : 'Show more'}
  </Button>
);
