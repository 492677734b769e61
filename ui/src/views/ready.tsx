import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo, useState, type ReactNode } from 'react';
import { get, inCity } from '../api/client.js';
import type { Bead, Schemas } from '../api/types.js';
import { wholeOf } from '../lib/bead-row.js';
import { useKeys } from '../lib/keys.js';
import { NOTHING, within } from '../lib/selection.js';
import { visible } from '../lib/text.js';
import { kinds, useCityRead } from '../live/use-read.js';
import { oldSince } from '../parts/as-of.js';
import { Button, Empty, Problem } from '../parts/basics.js';
import { BeadPane } from '../parts/bead-pane.js';
import { BeadTable } from '../parts/bead-table.js';
import { Bulk } from '../parts/bulk.js';
import { WhileRunning } from '../parts/city-stopped.js';
import { countOf } from '../parts/list-view.js';
import { Loading } from '../parts/page.js';
import { Pane } from '../parts/pane.js';

const MOST = 1000;
const NONE: readonly Bead[] = [];

/** What can be worked on now, and what waits for the workers of each route. */
export function Ready(): ReactNode {
  const { city } = useParams({ from: '/c/$city/ready' });
  const { bead: open, route, rig, who } = useSearch({ from: '/c/$city/ready' });
  const navigate = useNavigate({ from: '/c/$city/ready' });
  const query = { routed_to: route, rig, limit: MOST, view: 'summary', ...(who === 'nobody' ? { unassigned: true } : {}) };
  // Which beads are ready follows from what others do: the service says it.
  const { data, error, asOf, again } = useCityRead(
    city,
    JSON.stringify(query),
    async (signal) => {
      const [ready, demand] = await Promise.all([
        get<Schemas['ListBodyBead']>(inCity(city, 'beads/ready'), { query, signal }),
        get<Schemas['HookDemandResponse']>(inCity(city, 'hook/demand'), { signal }),
      ]);
      return { rows: (ready.items ?? []) as readonly Bead[], total: ready.total, least: ready.total_is_estimate, demand: demand.items };
    },
    kinds('bead.', 'convoy.'),
  );
  const rows = data?.rows ?? NONE;
  const [marked, mark] = useState(NOTHING);
  const ids = useMemo(() => rows.map(({ id }) => id), [rows]);
  const selection = useMemo(() => within(marked, ids), [marked, ids]);
  const chosen = useMemo(() => rows.filter(({ id }) => selection.ids.has(id)), [rows, selection]);
  const show = useCallback(
    (id: string | undefined, replace = false): void =>
      void navigate({ search: ({ bead: _, ...rest }) => (id === undefined ? rest : { ...rest, bead: id }), replace }),
    [navigate],
  );
  useKeys('Ready work of the city', [{ keys: 'Escape', label: 'close the bead', run: () => show(undefined) }]);
  const filtered = route !== undefined || rig !== undefined || who !== undefined;
  return (
    <WhileRunning city={city} title="Ready">
      <div className="flex h-full">
        <section aria-label="Ready work" className={`min-w-0 flex-1 flex-col ${open === undefined ? 'flex' : 'hidden lg:flex'}`}>
          <header className="flex flex-wrap items-center gap-2 border-b border-line bg-panel px-4 py-2.5">
            <h1 className="font-semibold">Ready</h1>
            {data !== undefined && (
              <span data-total={data.total} className="text-sm tabular-nums text-muted">
                {countOf(rows.length, data.total, data.least)}
              </span>
            )}
            <select
              aria-label="Whose"
              value={who ?? ''}
              onChange={(event) =>
                void navigate({ search: (before) => ({ ...before, who: event.target.value || undefined }), replace: true })
              }
              className="field ml-auto w-auto"
            >
              <option value="">Whoever has it</option>
              <option value="nobody">Nobody's</option>
            </select>
          </header>
          {data !== undefined && data.demand.length > 0 && (
            <div
              role="group"
              aria-label="Waits for the route"
              className="flex gap-1.5 overflow-x-auto border-b border-line bg-panel px-4 py-2"
            >
              {data.demand.map((one) => (
                <button
                  key={one.route}
                  type="button"
                  aria-pressed={one.route === route}
                  onClick={() =>
                    void navigate({
                      search: (before) => ({ ...before, route: one.route === route ? undefined : one.route }),
                      replace: true,
                    })
                  }
                  className="flex min-h-8 shrink-0 items-center gap-1.5 rounded-full border border-line px-3 text-sm hover:bg-raised aria-pressed:border-accent aria-pressed:bg-tint pointer-coarse:min-h-11"
                >
                  {one.route === '' ? 'no route' : visible(one.route)} <span className="tabular-nums text-muted">{one.ready}</span>
                </button>
              ))}
            </div>
          )}
          {error !== undefined && (
            <div className="p-3">
              <Problem error={error} onRetry={again} asOf={oldSince({ error, asOf })} />
            </div>
          )}
          {data === undefined && error === undefined && (
            <div className="p-4">
              <Loading />
            </div>
          )}
          {data !== undefined && rows.length === 0 && (
            <Empty title={filtered ? 'Nothing ready fits these filters' : 'Nothing is ready'}>
              {filtered ? (
                <Button onClick={() => void navigate({ search: {} })}>Clear filters</Button>
              ) : (
                <p>Open beads that wait for nothing stand here until somebody closes them, the most urgent first.</p>
              )}
            </Empty>
          )}
          {rows.length > 0 && (
            <BeadTable rows={rows} ids={ids} label="Ready" open={open} onOpen={show} selection={selection} onSelect={mark} />
          )}
          <Bulk city={city} beads={chosen} onClear={() => mark(NOTHING)} />
        </section>
        {open !== undefined && (
          <Pane label={`Bead ${open}`}>
            <BeadPane
              key={open}
              city={city}
              id={open}
              known={wholeOf(rows.find(({ id }) => id === open))}
              onClose={() => show(undefined)}
            />
          </Pane>
        )}
      </div>
    </WhileRunning>
  );
}
