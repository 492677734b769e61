import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { memo, useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore, type ReactNode } from 'react';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import { useStreamState } from '../app/connection.js';
import { wholeOf } from '../lib/bead-row.js';
import type { BeadFilter } from '../lib/bead-filter.js';
import { sortOf } from '../lib/bead-order.js';
import { useKeys } from '../lib/keys.js';
import { useLeaving } from '../lib/leaving.js';
import { NOTHING, within } from '../lib/selection.js';
import { beadsOf } from '../live/beads.js';
import { streamOf, useCityList } from '../live/use-list.js';
import { oldSince } from '../parts/as-of.js';
import { Button, Empty, Modal, Problem } from '../parts/basics.js';
import { BeadBoard } from '../parts/bead-board.js';
import { BeadPane } from '../parts/bead-pane.js';
import { BeadForm } from '../parts/bead-form.js';
import { BeadTable } from '../parts/bead-table.js';
import { BeadTree } from '../parts/bead-tree.js';
import { Bulk } from '../parts/bulk.js';
import { CityPaused } from '../parts/city-paused.js';
import { WhileRunning } from '../parts/city-stopped.js';
import { countOf, Which } from '../parts/list-view.js';
import { Loading } from '../parts/page.js';
import { Pane } from '../parts/pane.js';

const TYPING_MS = 250;
const VIEWS = [
  ['', 'List'],
  ['board', 'Board'],
  ['tree', 'Tree'],
] as const;
type View = (typeof VIEWS)[number][0];
const viewOf = (view: string | undefined): View => VIEWS.find(([one]) => one === view)?.[0] ?? '';

/** Columns beside each other take more room than a phone has. */
const NARROW = '(max-width: 639px)';
const useNarrow = (): boolean =>
  useSyncExternalStore(
    (tell) => {
      const query = matchMedia(NARROW);
      query.addEventListener('change', tell);
      return () => query.removeEventListener('change', tell);
    },
    () => matchMedia(NARROW).matches,
  );

/** The beads of a city: thousands of rows, of which those in sight are drawn, each as its last event has it. */
export function Beads(): ReactNode {
  const { city } = useParams({ from: '/c/$city/beads' });
  const search = useSearch({ from: '/c/$city/beads' });
  const { bead: open, new: creating, sort: sorted, view: asked } = search;
  const filter = useMemo(() => filterOf(search), [search]);
  const navigate = useNavigate({ from: '/c/$city/beads' });
  const sort = sortOf(sorted);
  const view = viewOf(asked);
  const narrow = useNarrow();
  const { list, snapshot } = useCityList(city, JSON.stringify([filter, sort]), () => beadsOf(city, filter, sort));
  const stream = useStreamState(streamOf(city));
  const { rows, ids, total, phase } = snapshot;
  const [marked, mark] = useState(NOTHING);
  const selection = useMemo(() => within(marked, ids), [marked, ids]);
  const chosen = useMemo(() => (selection.ids.size === 0 ? [] : rows.filter(({ id }) => selection.ids.has(id))), [rows, selection]);
  const show = useCallback(
    (id: string | undefined, replace = false): void =>
      void navigate({ search: ({ bead: _, ...rest }) => (id === undefined ? rest : { ...rest, bead: id }), replace }),
    [navigate],
  );
  const change = useCallback<FiltersProps['onChange']>(
    (next) => void navigate({ search: (before) => ({ ...before, ...next }), replace: true }),
    [navigate],
  );
  const create = (on: boolean): void =>
    void navigate({ search: ({ new: _, ...rest }) => (on ? { ...rest, new: '1' } : rest), replace: true });
  const setView = useCallback(
    (next: string | undefined): void =>
      void navigate({
        search: ({ view: _, ...rest }) => (next === undefined || next === '' ? rest : { ...rest, view: next }),
        replace: true,
      }),
    [navigate],
  );
  const not = useForbidden(needs.createBead);
  useKeys('Beads of the city', [
    ...(not === undefined ? [{ keys: 'c', label: 'new bead', run: () => create(true) }] : []),
    { keys: 'Escape', label: 'close the bead', run: () => show(undefined) },
    {
      keys: 'v',
      label: 'list, board or tree',
      run: () => setView(VIEWS[(VIEWS.findIndex(([one]) => one === view) + 1) % VIEWS.length]![0]),
    },
    { keys: '/', label: 'search', run: () => document.getElementById('bead-text')?.focus() },
  ]);
  const filtered = Object.values(filter).some((value) => value !== undefined);
  return (
    <WhileRunning city={city} title="Beads">
      <div className="flex h-full">
        <section aria-label="Beads" className={`@container min-w-0 flex-1 flex-col ${open === undefined ? 'flex' : 'hidden lg:flex'}`}>
          <header className="flex flex-wrap items-center gap-2 border-b border-line bg-panel px-4 py-2.5">
            <h1 className="font-semibold">Beads</h1>
            {phase !== 'first' && (
              <span data-total={total} className="text-sm tabular-nums text-muted">
                {countOf(rows.length, total, snapshot.least)}
                {phase === 'reading' && ' …'}
              </span>
            )}
            <Filters filter={filter} sort={sorted} view={view} onView={setView} onChange={change} />
            <Button look="primary" hotkey="c" not={not} className="ml-auto @5xl:ml-0" onClick={() => create(true)}>
              New bead
            </Button>
          </header>
          {snapshot.error !== undefined && (
            <div className="p-3">
              <Problem error={snapshot.error} onRetry={() => void list.read()} asOf={oldSince(snapshot)} />
            </div>
          )}
          {stream?.kind === 'paused' && <CityPaused city={city} className="border-b border-line px-4 py-1.5" />}
          {snapshot.cut && (
            <p className="border-b border-line px-4 py-1.5 text-sm text-muted">Only the newest are here: filter for the others.</p>
          )}
          {phase === 'first' && snapshot.error === undefined && (
            <div className="p-4">
              <Loading />
            </div>
          )}
          {phase === 'live' && rows.length === 0 && snapshot.error === undefined && (
            <Empty title={filtered ? 'No bead fits these filters' : 'No open bead'}>
              {filtered ? (
                <Button onClick={() => void navigate({ search: ({ view: kept }) => (kept === undefined ? {} : { view: kept }) })}>
                  Clear filters
                </Button>
              ) : (
                <>
                  <p>A bead is a piece of work. Agents take those that nothing blocks.</p>
                  <Button look="primary" not={not} onClick={() => create(true)}>
                    Write the first one
                  </Button>
                </>
              )}
            </Empty>
          )}
          {view === 'board' && narrow && (
            <p className="border-b border-line px-4 py-1.5 text-sm text-muted">A board needs more width: this is the tree.</p>
          )}
          {view === '' ? (
            <BeadTable rows={rows} ids={ids} label="Beads" open={open} onOpen={show} selection={selection} onSelect={mark} />
          ) : view === 'board' && !narrow ? (
            <BeadBoard rows={rows} status={filter.status} open={open} onOpen={show} selection={selection} onSelect={mark} />
          ) : (
            <BeadTree rows={rows} open={open} onOpen={show} selection={selection} onSelect={mark} />
          )}
          <Bulk city={city} beads={chosen} onClear={() => mark(NOTHING)} />
        </section>
        {open !== undefined && (
          <Pane label={`Bead ${open}`}>
            <BeadPane key={open} city={city} id={open} known={wholeOf(list.get(open))} onClose={() => show(undefined)} />
          </Pane>
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
    </WhileRunning>
  );
}

function filterOf({
  bead: _,
  new: __,
  sort: ___,
  view: ____,
  ...filter
}: BeadFilter & Partial<Record<'bead' | 'new' | 'sort' | 'view', unknown>>): BeadFilter {
  return filter;
}

interface FiltersProps {
  readonly filter: BeadFilter;
  readonly sort: string | undefined;
  readonly view: View;
  readonly onView: (view: string | undefined) => void;
  readonly onChange: (next: Partial<Record<keyof BeadFilter | 'sort', string | undefined>>) => void;
}

const STATUSES = [
  ['', 'Not closed'],
  ['open', 'Open'],
  ['in_progress', 'In progress'],
  ['closed', 'Closed'],
  ['all', 'All'],
] as const;
const PRIORITIES = [['', 'Any priority'], ...[0, 1, 2, 3, 4].map((n) => [String(n), `P${n}`] as const)] as const;
const SORTS = [
  ['', 'Newest'],
  ['updated_at', 'Last changed'],
  ['priority', 'Most urgent'],
] as const;

const Filters = memo(function Filters({ filter, sort, view, onView, onChange }: FiltersProps): ReactNode {
  return (
    <div className="order-last flex w-full flex-wrap items-center gap-2 @5xl:order-none @5xl:ml-auto @5xl:w-auto">
      <Which label="View" value={view} options={VIEWS} onChange={onView} />
      <Which label="Status" value={filter.status} options={STATUSES} onChange={(status) => onChange({ status })} />
      <Which label="Priority" value={filter.priority} options={PRIORITIES} onChange={(priority) => onChange({ priority })} />
      <Which label="Order" value={sort} options={SORTS} onChange={(next) => onChange({ sort: next })} />
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
});

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
  const isLeaving = useLeaving();
  useEffect(() => {
    if ((value ?? '') === said.current) return;
    said.current = value ?? '';
    setText(value ?? '');
  }, [value]);
  useEffect(() => {
    if (text === said.current) return;
    const timer = setTimeout(() => {
      if (isLeaving()) return;
      said.current = text;
      onChange(text === '' ? undefined : text);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, onChange, isLeaving]);
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
