import type { ReactNode } from 'react';
import { useStreamState } from '../app/connection.js';
import { streamOf } from '../live/use-list.js';
import { Problem } from './basics.js';
import { CityPaused } from './city-paused.js';
import { WhileRunning } from './city-stopped.js';
import { Pane } from './pane.js';

interface PageProps {
  readonly city: string;
  readonly title: string;
  /** How many there are, or how many of how many. */
  readonly count?: ReactNode;
  readonly tools?: ReactNode;
  readonly error?: unknown;
  readonly onRetry?: () => void;
  /** Of when it is what is shown beside an error. */
  readonly asOf?: number | undefined;
  /** The thing that is open beside the list; below 1024 px it is there alone. */
  readonly pane?: ReactNode;
  readonly paneLabel?: string;
  /** The row that it shows. */
  readonly paneRow?: string | undefined;
  readonly width?: 'narrow' | 'wide';
  readonly children: ReactNode;
}

/** A view of a city: its head, what is in it, and what is open beside it. A city that does not run says so instead. */
export function CityPage({
  city,
  title,
  count,
  tools,
  error,
  onRetry,
  asOf,
  pane,
  paneLabel = '',
  paneRow,
  width = 'wide',
  children,
}: PageProps): ReactNode {
  const stream = useStreamState(streamOf(city));
  return (
    <WhileRunning city={city} title={title}>
      <div className="flex h-full">
        <div className={`min-w-0 flex-1 overflow-auto ${pane === undefined ? '' : 'hidden lg:block'}`}>
          <div className={`@container mx-auto flex flex-col gap-4 p-4 md:p-6 ${width === 'wide' ? 'max-w-6xl' : 'max-w-3xl'}`}>
            <header className="flex flex-wrap items-center gap-x-3 gap-y-2">
              <h1 className="text-lg font-semibold">{title}</h1>
              {count !== undefined && (
                <span data-total={typeof count === 'number' ? count : undefined} className="text-sm tabular-nums text-muted">
                  {count}
                </span>
              )}
              {tools !== undefined && <div className="ml-auto flex flex-wrap items-center gap-2">{tools}</div>}
            </header>
            {stream?.kind === 'paused' && <CityPaused city={city} />}
            {error !== undefined && <Problem error={error} asOf={asOf} {...(onRetry === undefined ? {} : { onRetry })} />}
            {children}
          </div>
        </div>
        {pane !== undefined && (
          <Pane label={paneLabel} row={paneRow}>
            {pane}
          </Pane>
        )}
      </div>
    </WhileRunning>
  );
}

/** Rows of the right height while nothing is known yet; only after a moment, so that what is quick does not flicker. */
export const Loading = ({ rows = 6 }: { rows?: number }): ReactNode => (
  <div role="status" aria-label="Reading" className="appears flex flex-col gap-2">
    {Array.from({ length: rows }, (_, i) => (
      <div key={i} className="h-11 rounded-lg bg-raised" />
    ))}
  </div>
);

export const Rows = ({ children, label }: { children: ReactNode; label: string }): ReactNode => (
  <ul aria-label={label} className="flex flex-col divide-y divide-line overflow-hidden rounded-xl border border-line bg-panel">
    {children}
  </ul>
);

interface CardProps {
  readonly title: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
}

export const Card = ({ title, aside, children, className = '' }: CardProps): ReactNode => (
  <section className={`flex min-w-0 flex-col rounded-xl border border-line bg-panel ${className}`}>
    <header className="flex items-center gap-3 border-b border-line px-4 py-2">
      <h2 className="text-sm font-semibold">{title}</h2>
      {aside !== undefined && <div className="ml-auto text-sm text-muted">{aside}</div>}
    </header>
    {children}
  </section>
);

export function Facts({ children }: { children: ReactNode }): ReactNode {
  return <dl className="grid grid-cols-[auto_1fr] gap-x-5 gap-y-1.5 text-sm">{children}</dl>;
}

export function Fact({ name, children }: { name: string; children: ReactNode }): ReactNode {
  if (children === undefined || children === null || children === '' || children === false) return null;
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="words min-w-0">{children}</dd>
    </>
  );
}

interface TabsProps<T extends string> {
  readonly label: string;
  readonly tabs: readonly (readonly [T, string])[];
  readonly value: T;
  readonly onChange: (tab: T) => void;
}

/** Which reading of a thing is shown; the address keeps it. */
export function Tabs<T extends string>({ label, tabs, value, onChange }: TabsProps<T>): ReactNode {
  return (
    <div role="tablist" aria-label={label} className="flex gap-1 border-b border-line">
      {tabs.map(([id, name]) => (
        <button
          key={id}
          type="button"
          role="tab"
          aria-selected={id === value}
          tabIndex={id === value ? 0 : -1}
          onClick={() => onChange(id)}
          onKeyDown={(event) => {
            const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
            const next = tabs[tabs.findIndex(([one]) => one === value) + step];
            if (step === 0 || next === undefined) return;
            event.preventDefault();
            onChange(next[0]);
            const sibling = step > 0 ? event.currentTarget.nextElementSibling : event.currentTarget.previousElementSibling;
            if (sibling instanceof HTMLElement) sibling.focus();
          }}
          className="-mb-px min-h-9 border-b-2 border-transparent px-3 text-sm text-muted hover:text-ink aria-selected:border-accent aria-selected:font-medium aria-selected:text-ink pointer-coarse:min-h-11"
        >
          {name}
        </button>
      ))}
    </div>
  );
}

/** How far something is, in numbers and as a bar. `quiet`: what is closed of it is not done. */
export const Progress = ({ done, total, quiet = false }: { done: number; total: number; quiet?: boolean }): ReactNode => (
  <span className="inline-flex items-center gap-2 whitespace-nowrap text-sm tabular-nums text-muted">
    <progress
      value={done}
      max={Math.max(1, total)}
      aria-label={`${done} of ${total} ${quiet ? 'closed' : 'done'}`}
      className={quiet ? 'bar quiet' : 'bar'}
    />
    {done} of {total}
  </span>
);
