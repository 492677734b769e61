import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useEffect, useRef, useState, type ReactNode } from 'react';
import type { Bead } from '../api/types.js';
import { useStreamState } from '../app/connection.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { beadsOf, type BeadFilter } from '../live/beads.js';
import { streamOf, useCityList } from '../live/use-list.js';
import { Age, Button, Empty, Modal, Problem } from '../parts/basics.js';
import { BeadPane } from '../parts/bead-pane.js';
import { BeadForm } from '../parts/bead-form.js';
import { BeadState } from '../parts/bead-state.js';
import { CityStopped } from '../parts/city-stopped.js';

const ROW_PX = 44;
const TYPING_MS = 250;

/** The beads of a city: thousands of rows, of which those in sight are drawn, each as its last event has it. */
export function Beads(): ReactNode {
  const { city } = useParams({ from: '/c/$city/beads' });
  const { bead: open, new: creating, ...filter } = useSearch({ from: '/c/$city/beads' });
  const navigate = useNavigate({ from: '/c/$city/beads' });
  const { list, snapshot } = useCityList(city, JSON.stringify(filter), () => beadsOf(city, filter));
  const stream = useStreamState(streamOf(city));
  const scroller = useRef<HTMLDivElement>(null);
  const { rows, total, phase } = snapshot;
  const [chosen, choose] = useState<string>();
  const at = Math.max(
    0,
    rows.findIndex(({ id }) => id === (chosen ?? open)),
  );
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: (i) => rows[i]!.id,
    overscan: 12,
    useFlushSync: false,
  });
  const show = (id: string | undefined): void =>
    void navigate({ search: ({ bead: _, ...rest }) => (id === undefined ? rest : { ...rest, bead: id }) });
  const create = (on: boolean): void =>
    void navigate({ search: ({ new: _, ...rest }) => (on ? { ...rest, new: '1' } : rest), replace: true });
  const move = (by: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, at + by));
    const row = rows[next];
    if (row === undefined) return;
    choose(row.id);
    virtual.scrollToIndex(next);
    if (open !== undefined) void navigate({ search: (before) => ({ ...before, bead: row.id }), replace: true });
  };
  useKeys('Beads', [
    { keys: 'c', label: 'new bead', run: () => create(true) },
    { keys: 'j', label: 'next', run: () => move(1) },
    { keys: 'k', label: 'previous', run: () => move(-1) },
    { keys: 'o', label: 'open', run: () => show(rows[at]?.id) },
    { keys: 'Enter', label: 'open', run: () => show(rows[at]?.id) },
    { keys: 'Escape', label: 'close the bead', run: () => show(undefined) },
    { keys: '/', label: 'search', run: () => document.getElementById('bead-text')?.focus() },
  ]);
  const filtered = Object.values(filter).some((value) => value !== undefined);
  if (stream?.kind === 'missing') return <CityStopped city={city} why={stream.why} />;
  return (
    <div className="flex h-full">
      <section aria-label="Beads" className={`@container min-w-0 flex-1 flex-col ${open === undefined ? 'flex' : 'hidden lg:flex'}`}>
        <header className="flex flex-wrap items-center gap-2 border-b border-line bg-panel px-4 py-2.5">
          <h1 className="font-semibold">Beads</h1>
          {phase !== 'first' && (
            <span data-total={total} className="text-sm tabular-nums text-muted">
              {rows.length < total ? `${rows.length} of ${total}` : total}
              {phase === 'reading' && ' …'}
            </span>
          )}
          <Filters filter={filter} onChange={(next) => void navigate({ search: (before) => ({ ...before, ...next }), replace: true })} />
          <Button look="primary" hotkey="c" className="ml-auto @5xl:ml-0" onClick={() => create(true)}>
            New bead
          </Button>
        </header>
        {snapshot.error !== undefined && (
          <div className="p-3">
            <Problem error={snapshot.error} onRetry={() => void list.read()} />
          </div>
        )}
        {snapshot.cut && (
          <p className="border-b border-line px-4 py-1.5 text-sm text-muted">Only the newest are here: filter for the others.</p>
        )}
        {phase === 'live' && rows.length === 0 && snapshot.error === undefined && (
          <Empty title={filtered ? 'No bead fits these filters' : 'No open bead'}>
            {filtered ? (
              <Button onClick={() => void navigate({ search: {} })}>Clear filters</Button>
            ) : (
              <>
                <p>A bead is a piece of work. Agents take those that nothing blocks.</p>
                <Button look="primary" onClick={() => create(true)}>
                  Write the first one
                </Button>
              </>
            )}
          </Empty>
        )}
        <div
          ref={scroller}
          tabIndex={0}
          role="table"
          aria-label="Beads"
          aria-rowcount={rows.length}
          data-beads
          className="still min-h-0 flex-1 overflow-auto"
        >
          <div role="rowgroup" className="relative w-full" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ index, key, start }) => (
              <Row
                key={key}
                bead={rows[index]!}
                index={index}
                top={start}
                current={index === at}
                open={rows[index]!.id === open}
                onOpen={show}
              />
            ))}
          </div>
        </div>
      </section>
      {open !== undefined && (
        <aside aria-label={`Bead ${open}`} className="w-full overflow-auto border-l border-line bg-panel lg:w-[30rem] xl:w-[36rem]">
          <BeadPane key={open} city={city} id={open} known={list.get(open)} onClose={() => show(undefined)} />
        </aside>
      )}
      {creating !== undefined && (
        <Modal title={`New bead in ${city}`} onClose={() => create(false)} wide>
          <BeadForm
            city={city}
            onDone={(id) => void navigate({ search: ({ new: _, ...rest }) => ({ ...rest, bead: id }) })}
            onCancel={() => create(false)}
          />
        </Modal>
      )}
    </div>
  );
}

interface RowProps {
  readonly bead: Bead;
  readonly index: number;
  readonly top: number;
  readonly current: boolean;
  readonly open: boolean;
  readonly onOpen: (id: string) => void;
}

const Row = memo(
  function Row({ bead, index, top, current, open, onOpen }: RowProps): ReactNode {
    return (
      <div
        role="row"
        aria-rowindex={index + 1}
        data-bead={bead.id}
        data-current={current ? '' : undefined}
        onClick={() => onOpen(bead.id)}
        style={{ transform: `translateY(${top}px)`, height: ROW_PX }}
        className={`absolute inset-x-0 top-0 grid cursor-pointer grid-cols-[4.5rem_1fr_auto] items-center gap-3 border-b border-line px-4 hover:bg-raised data-current:shadow-[inset_3px_0_0_var(--accent)] @xl:grid-cols-[6.5rem_4.5rem_1fr_7rem_3rem] ${open ? 'bg-tint' : ''}`}
      >
        <span role="cell" className="hidden @xl:block">
          <BeadState bead={bead} />
        </span>
        <span role="cell" className="truncate font-mono text-xs text-muted">
          {bead.id}
        </span>
        <span role="cell" className="flex min-w-0 items-center gap-2">
          <button type="button" tabIndex={-1} className="truncate text-left" onClick={() => onOpen(bead.id)}>
            {visible(bead.title)}
          </button>
          {bead.priority !== undefined && bead.priority < 2 && (
            <span className="shrink-0 rounded bg-warntint px-1 text-xs font-semibold text-warn">P{bead.priority}</span>
          )}
          {bead.labels?.slice(0, 2).map((label) => (
            <span key={label} className="hidden max-w-32 shrink-0 truncate rounded bg-raised px-1.5 text-xs text-muted @4xl:block">
              {visible(label)}
            </span>
          ))}
        </span>
        <span role="cell" className="hidden truncate text-sm text-muted @xl:block">
          {bead.assignee === undefined ? '' : visible(bead.assignee)}
        </span>
        <span role="cell" className="justify-self-end text-xs text-muted">
          <Age at={bead.updated_at ?? bead.created_at} />
        </span>
      </div>
    );
  },
  (a, b) => a.bead === b.bead && a.top === b.top && a.current === b.current && a.open === b.open && a.index === b.index,
);

interface FiltersProps {
  readonly filter: BeadFilter;
  readonly onChange: (next: Partial<Record<keyof BeadFilter, string | undefined>>) => void;
}

function Filters({ filter, onChange }: FiltersProps): ReactNode {
  return (
    <div className="order-last flex w-full flex-wrap items-center gap-2 @5xl:order-none @5xl:ml-auto @5xl:w-auto">
      <select
        aria-label="Status"
        value={filter.status ?? ''}
        onChange={(event) => onChange({ status: event.target.value || undefined })}
        className="field w-auto"
      >
        <option value="">Not closed</option>
        <option value="open">Open</option>
        <option value="in_progress">In progress</option>
        <option value="closed">Closed</option>
        <option value="all">All</option>
      </select>
      <select
        aria-label="Priority"
        value={filter.priority ?? ''}
        onChange={(event) => onChange({ priority: event.target.value || undefined })}
        className="field w-auto"
      >
        <option value="">Any priority</option>
        {[0, 1, 2, 3, 4].map((n) => (
          <option key={n} value={n}>
            P{n}
          </option>
        ))}
      </select>
      <Typed
        id="bead-assignee"
        label="Assignee"
        value={filter.assignee}
        onChange={(assignee) => onChange({ assignee })}
        className="hidden w-28 sm:block"
      />
      <Typed
        id="bead-label"
        label="Label"
        value={filter.label}
        onChange={(label) => onChange({ label })}
        className="hidden w-28 sm:block"
      />
      <Typed id="bead-text" label="Search" value={filter.text} onChange={(text) => onChange({ text })} className="w-36" />
    </div>
  );
}

interface TypedProps {
  readonly id: string;
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
  readonly className: string;
}

/** Asks once somebody has stopped typing. */
function Typed({ id, label, value, onChange, className }: TypedProps): ReactNode {
  const [text, setText] = useState(value ?? '');
  const said = useRef(value ?? '');
  useEffect(() => {
    if ((value ?? '') === said.current) return;
    said.current = value ?? '';
    setText(value ?? '');
  }, [value]);
  useEffect(() => {
    if (text === said.current) return;
    const timer = setTimeout(() => {
      said.current = text;
      onChange(text === '' ? undefined : text);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, onChange]);
  return (
    <input
      id={id}
      type="search"
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={(event) => setText(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === 'Escape') event.currentTarget.blur();
      }}
      className={`field ${className}`}
    />
  );
}
