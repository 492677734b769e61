import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { get, inCity } from '../api/client.js';
import type { Schemas } from '../api/types.js';
import { useKeys } from '../lib/keys.js';
import { isDone } from '../lib/run-end.js';
import { visible } from '../lib/text.js';
import { kinds, useCityRead } from '../live/use-read.js';
import { oldSince } from '../parts/as-of.js';
import { Age, Button } from '../parts/basics.js';
import { useListKeys } from '../parts/list-keys.js';
import { List, ListRow } from '../parts/list-view.js';
import { CityPage, Progress } from '../parts/page.js';
import { RunStateOf } from '../parts/run-state.js';

type Run = Schemas['Run'];
const PAGE = 500;
const STATES = ['active', 'waiting', 'pending', 'canceling', 'failed', 'completed', 'canceled', 'skipped'] as const;

/** What goes on by a formula, then what waits, then what has ended. */
export function Runs(): ReactNode {
  const { city } = useParams({ from: '/c/$city/runs' });
  const { status } = useSearch({ from: '/c/$city/runs' });
  const navigate = useNavigate({ from: '/c/$city/runs' });
  const { data, error, asOf, again } = useCityRead(
    city,
    'runs',
    (signal) => get<Schemas['RunsListOutputBody']>(inCity(city, 'runs'), { query: { limit: PAGE }, signal }),
    kinds('molecule.', 'execution.', 'bead.closed'),
  );
  const all = data?.runs ?? [];
  const rows = status === undefined ? all : all.filter((run: Run) => run.status === status);
  const counts = data?.status_counts;
  const total = counts === undefined ? 0 : Object.values(counts).reduce((sum, one) => sum + one, 0);
  const at = useListKeys(
    'Runs',
    rows.map(({ run_id }) => run_id),
    undefined,
    (id) => {
      if (id !== undefined) void navigate({ to: '/c/$city/runs/$id', params: { city, id } });
    },
  );
  useKeys('Runs of the city', [
    { keys: 's', label: 'to the formulas, to start one', run: () => void navigate({ to: '/c/$city/formulas', params: { city } }) },
  ]);
  return (
    <CityPage
      city={city}
      title="Runs"
      count={data === undefined ? undefined : total}
      error={error}
      onRetry={again}
      asOf={oldSince({ error, asOf })}
      tools={
        <Button look="primary" hotkey="s" onClick={() => void navigate({ to: '/c/$city/formulas', params: { city } })}>
          Start one by a formula
        </Button>
      }
    >
      {counts !== undefined && total > 0 && (
        <div role="group" aria-label="Which runs" className="flex flex-wrap gap-1.5">
          {STATES.filter((one) => counts[one] > 0 || one === status).map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === status}
              onClick={() => void navigate({ search: one === status ? {} : { status: one }, replace: true })}
              className="flex min-h-8 items-center gap-2 rounded-full border border-line bg-panel px-3 text-sm hover:bg-raised aria-pressed:border-accent aria-pressed:bg-tint pointer-coarse:min-h-11"
            >
              <RunStateOf status={one} /> <span className="tabular-nums text-muted">{counts[one]}</span>
            </button>
          ))}
        </div>
      )}
      <List
        label="Runs"
        rows={data === undefined ? undefined : rows}
        failed={error !== undefined}
        none={[
          'Nothing was run yet',
          <p>
            A run does a formula: its steps are beads, each done by whoever is told to. It starts with a formula, or with work that is
            slung.
          </p>,
        ]}
        filtered={
          total === 0
            ? undefined
            : { title: `No run is ${status ?? 'here'}`, clear: 'Show all', onClear: () => void navigate({ search: {} }) }
        }
        row={(run) => (
          <ListRow key={run.run_id} kind="data-run" id={run.run_id} here={run.run_id === at}>
            <Link
              to="/c/$city/runs/$id"
              params={{ city, id: run.run_id }}
              className="grid grid-cols-[1fr_auto] items-center gap-x-4 gap-y-0.5 px-4 py-2.5 hover:bg-raised @2xl:grid-cols-[1fr_9rem_7rem_3rem]"
            >
              <span className="min-w-0">
                <span className="block truncate font-medium">{visible(run.title)}</span>
                <span className="block truncate text-xs text-muted">
                  <span className="font-mono">{run.run_id}</span>
                  {run.formula !== undefined && ` · ${visible(run.formula)}`}
                  {run.target !== undefined && run.target !== '' && ` · for ${visible(run.target)}`}
                  {run.source_id !== undefined && run.source_id !== '' && ` · on ${visible(run.source_id)}`}
                  {run.last_error !== undefined && ` · ${visible(run.last_error.message ?? run.last_error.code)}`}
                </span>
              </span>
              <span className="hidden @2xl:block">
                <Progress done={run.progress.closed} total={run.progress.total} quiet={!isDone(run.status)} />
              </span>
              <RunStateOf status={run.status} />
              <span className="hidden justify-self-end text-xs text-muted @2xl:block">
                <Age at={run.updated_at ?? run.started_at} />
              </span>
            </Link>
          </ListRow>
        )}
      />
      {data?.next_cursor !== undefined && (
        <p className="text-sm text-muted">These are the {all.length} that matter most; older ones that have ended are not here.</p>
      )}
    </CityPage>
  );
}
