import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo, useRef, useState, type ReactNode } from 'react';
import { get, inCity } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { counted } from '../lib/counted.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { done } from '../live/undo.js';
import { kinds, useCityRead } from '../live/use-read.js';
import { oldSince } from '../parts/as-of.js';
import { Button, State } from '../parts/basics.js';
import { useListKeys } from '../parts/list-keys.js';
import { countOf, Filter, List, ListRow } from '../parts/list-view.js';
import { CityPage } from '../parts/page.js';
import { StartRun } from '../parts/start-run.js';
import { FormulaEditor } from './formulas/editor.js';

/** Templates of work, each with the file that counts and what has become of its runs. */
export function Formulas(): ReactNode {
  const { city } = useParams({ from: '/c/$city/formulas' });
  const { q = '', new: creating } = useSearch({ from: '/c/$city/formulas' });
  const navigate = useNavigate({ from: '/c/$city/formulas' });
  const { data, error, asOf, again } = useCityRead(
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
  const not = useForbidden(needs.sling);
  const configure = useForbidden(needs.saveFormula);
  const create = (on: boolean): void =>
    void navigate({ search: ({ new: _, ...rest }) => (on ? { ...rest, new: '1' } : rest), replace: true });
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
    ...(configure === undefined ? [{ keys: 'c', label: 'new formula', run: () => create(true) }] : []),
    ...(not === undefined ? [{ keys: 's', label: 'start a run of it', run: () => setStarting(at) }] : []),
  ]);
  return (
    <CityPage
      city={city}
      title="Formulas"
      count={data === undefined ? undefined : countOf(rows.length, data.total)}
      error={error}
      onRetry={again}
      asOf={oldSince({ error, asOf })}
      tools={
        <>
          <Filter
            label="Filter formulas"
            value={q}
            box={filter}
            onChange={(words) => void navigate({ search: words === undefined ? {} : { q: words }, replace: true })}
          />
          <Button look="primary" hotkey="c" not={configure} onClick={() => create(true)}>
            New formula
          </Button>
        </>
      }
    >
      <List
        label="Formulas"
        rows={data === undefined ? undefined : rows}
        failed={error !== undefined}
        none={[
          'This city has no formulas',
          <p>
            A formula is a template of work: steps, what they need, and values to fill in. Packs bring some; others are written here, or
            given to `svc formula save`.
          </p>,
        ]}
        filtered={
          data === undefined || data.total === 0
            ? undefined
            : { title: `0 of ${data.total}`, clear: 'Clear the filter', onClear: () => void navigate({ search: {} }) }
        }
        row={(one) => (
          <ListRow
            key={one.name}
            kind="data-formula"
            id={one.name}
            here={one.name === at}
            className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5"
          >
            <span className="min-w-0 flex-1 basis-40">
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
              <span className="text-sm tabular-nums text-muted">{counted(one.run_count, 'run')}</span>
            )}
            <Button
              not={not ?? (one.errors !== undefined && one.errors.length > 0 ? one.errors[0] : undefined)}
              onClick={() => setStarting(one.name)}
            >
              Start
            </Button>
          </ListRow>
        )}
      />
      {creating !== undefined && (
        <FormulaEditor
          city={city}
          name={undefined}
          source=""
          revision={undefined}
          names={all.map(({ name }) => name)}
          onClose={() => create(false)}
          onTheirs={() => create(false)}
          onDone={(name) => {
            done(`${name} is saved`);
            void navigate({ to: '/c/$city/formulas/$name', params: { city, name } });
          }}
        />
      )}
      {starting !== undefined && <StartRun city={city} formula={starting} onClose={() => setStarting(undefined)} />}
    </CityPage>
  );
}
