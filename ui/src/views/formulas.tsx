import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo, useRef, useState, type ReactNode } from 'react';
import { get, inCity } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import type { Schemas } from '../api/types.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { kinds, useCityRead } from '../live/use-read.js';
import { Button, Empty, State } from '../parts/basics.js';
import { useListKeys } from '../parts/list-keys.js';
import { CityPage, Loading, Rows } from '../parts/page.js';
import { StartRun } from '../parts/start-run.js';

/** Templates of work, each with the file that counts and what has become of its runs. */
export function Formulas(): ReactNode {
  const { city } = useParams({ from: '/c/$city/formulas' });
  const { q = '' } = useSearch({ from: '/c/$city/formulas' });
  const navigate = useNavigate({ from: '/c/$city/formulas' });
  const { data, error, again } = useCityRead(
    city,
    'formulas',
    (signal) =>
      get<Schemas['FormulaListBody']>(inCity(city, 'formulas'), { query: { scope_kind: 'city', scope_ref: city, limit: 500 }, signal }),
    kinds('config.', 'pack.', 'molecule.'),
  );
  const all = data?.items ?? [];
  const rows = useMemo(() => {
    const words = q.toLowerCase();
    return all.filter(({ name, title, description }) =>
      [name, title, description].some((text) => text?.toLowerCase().includes(words) === true),
    );
  }, [all, q]);
  const [starting, setStarting] = useState<string>();
  const not = useForbidden('operate');
  const filter = useRef<HTMLInputElement>(null);
  const at = useListKeys(
    'Formulas',
    rows.map(({ name }) => name),
    undefined,
    (name) => {
      if (name !== undefined) void navigate({ to: '/c/$city/formulas/$name', params: { city, name } });
    },
  );
  useKeys('Formulas of the city', [
    { keys: '/', label: 'filter', run: () => filter.current?.focus() },
    { keys: 's', label: 'start a run of it', run: () => setStarting(at) },
  ]);
  return (
    <CityPage
      city={city}
      title="Formulas"
      count={data === undefined ? undefined : rows.length === data.total ? data.total : `${rows.length} of ${data.total}`}
      error={error}
      onRetry={again}
      tools={
        <input
          ref={filter}
          aria-label="Filter formulas"
          placeholder="Filter"
          value={q}
          onChange={(event) => void navigate({ search: event.target.value === '' ? {} : { q: event.target.value }, replace: true })}
          onKeyDown={(event) => {
            if (event.key === 'Escape') event.currentTarget.blur();
          }}
          className="field w-40"
        />
      }
    >
      {data === undefined && error === undefined && <Loading />}
      {data !== undefined && rows.length === 0 && (
        <Empty title={data.total === 0 ? 'This city has no formulas' : `0 of ${data.total}`}>
          {data.total === 0 ? (
            <p>
              A formula is a template of work: steps, what they need, and values to fill in. Packs bring some, and `svc formula save` takes
              a file.
            </p>
          ) : (
            <Button onClick={() => void navigate({ search: {} })}>Clear the filter</Button>
          )}
        </Empty>
      )}
      {rows.length > 0 && (
        <Rows label="Formulas">
          {rows.map((one) => (
            <li
              key={one.name}
              data-formula={one.name}
              data-row={one.name}
              aria-current={one.name === at ? 'true' : undefined}
              className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 aria-[current]:bg-tint"
            >
              <span className="min-w-0 flex-1 basis-56">
                <Link to="/c/$city/formulas/$name" params={{ city, name: one.name }} className="block truncate font-medium hover:underline">
                  {visible(one.name)}
                </Link>
                <span className="block truncate text-xs text-muted">
                  {visible([one.title, one.description].find((text) => text !== undefined && text !== '') ?? one.source.file)}
                </span>
              </span>
              {one.errors !== undefined && one.errors.length > 0 ? (
                <State tone="bad">cannot be used</State>
              ) : (
                <span className="text-sm tabular-nums text-muted">{one.run_count === 1 ? '1 run' : `${one.run_count} runs`}</span>
              )}
              <Button
                not={not ?? (one.errors !== undefined && one.errors.length > 0 ? one.errors[0] : undefined)}
                onClick={() => setStarting(one.name)}
              >
                Start
              </Button>
            </li>
          ))}
        </Rows>
      )}
      {starting !== undefined && <StartRun city={city} formula={starting} onClose={() => setStarting(undefined)} />}
    </CityPage>
  );
}
