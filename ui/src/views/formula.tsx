import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useState, type ReactNode } from 'react';
import { get, getStamped, inCity, part, request } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { mayRun } from '../lib/formula-commands.js';
import { useKeys } from '../lib/keys.js';
import { asTree } from '../lib/tree.js';
import { visible } from '../lib/text.js';
import { loading } from '../lib/part.js';
import { useAgents } from '../live/agents.js';
import { done } from '../live/undo.js';
import { kinds, useCityRead } from '../live/use-read.js';
import { useActing } from '../parts/acting.js';
import { Age, Button, Confirm, Empty, Problem, State } from '../parts/basics.js';
import { CityPage, Fact, Facts, Loading, Rows, Tabs } from '../parts/page.js';
import { StartRun } from '../parts/start-run.js';
import { Code } from '../parts/tool.js';
import { FormulaEditor } from './formulas/editor.js';

const Flow = lazy(loading(() => import('../graph/flow.js').then((module) => ({ default: module.Flow }))));
const TABS = [
  ['steps', 'Steps'],
  ['graph', 'Graph'],
  ['runs', 'Runs'],
  ['source', 'Source'],
] as const;
type Tab = (typeof TABS)[number][0];

/** One formula: what it becomes, its runs, and what is written. */
export function FormulaPage(): ReactNode {
  const { city, name } = useParams({ from: '/c/$city/formulas/$name' });
  const { tab: asked } = useSearch({ from: '/c/$city/formulas/$name' });
  const navigate = useNavigate({ from: '/c/$city/formulas/$name' });
  const tab: Tab = TABS.find(([one]) => one === asked)?.[0] ?? 'steps';
  const [starting, setStarting] = useState(false);
  const not = useForbidden(needs.sling);
  useKeys('This formula', [
    ...(not === undefined ? [{ keys: 's', label: 'start a run', run: () => setStarting(true) }] : []),
    { keys: 'u', label: 'back to the formulas', run: () => void navigate({ to: '/c/$city/formulas', params: { city }, search: {} }) },
  ]);
  return (
    <CityPage
      city={city}
      title={visible(name)}
      tools={
        <Button look="primary" hotkey="s" not={not} onClick={() => setStarting(true)}>
          Start a run
        </Button>
      }
    >
      <Tabs
        label="Readings of the formula"
        tabs={TABS}
        value={tab}
        onChange={(next) => void navigate({ search: next === 'steps' ? {} : { tab: next }, replace: true })}
      />
      {(tab === 'steps' || tab === 'graph') && <Detail city={city} name={name} graph={tab === 'graph'} />}
      {tab === 'runs' && <Runs city={city} name={name} />}
      {tab === 'source' && <Source city={city} name={name} />}
      {starting && <StartRun city={city} formula={name} onClose={() => setStarting(false)} />}
    </CityPage>
  );
}

interface PartProps {
  readonly city: string;
  readonly name: string;
}

/** It is compiled as for the first agent: whom it is for changes little of it. */
function Detail({ city, name, graph }: PartProps & { readonly graph: boolean }): ReactNode {
  const agents = useAgents(city);
  const target = agents?.[0];
  if (agents === undefined) return <Loading rows={4} />;
  if (target === undefined) return <Empty title="It is for an agent, and this city has none" />;
  return <Compiled city={city} name={name} target={target} graph={graph} />;
}

function Compiled({ city, name, target, graph }: PartProps & { readonly target: string; readonly graph: boolean }): ReactNode {
  const { data, error, again } = useCityRead(
    city,
    `formula ${name} ${target}`,
    (signal) =>
      get<Schemas['FormulaDetailResponse']>(inCity(city, `formulas/${part(name)}`), {
        query: { scope_kind: 'city', scope_ref: city, target },
        signal,
      }),
    kinds('config.', 'pack.'),
  );
  if (data === undefined) return error === undefined ? <Loading rows={4} /> : <Problem error={error} onRetry={again} />;
  if (graph)
    return (
      <Suspense fallback={<Loading rows={4} />}>
        <Flow
          nodes={data.preview.nodes.map(({ id, title, kind }) => ({ id, title, state: kind, tone: 'good', ended: false }))}
          edges={data.preview.edges.map(({ from, to, kind = '' }) => ({ from, to, kind }))}
          here=""
          label={`The steps of ${name}`}
        />
      </Suspense>
    );
  const needs = new Map<string, string[]>();
  for (const { from, to } of data.deps) needs.set(to, [...(needs.get(to) ?? []), from]);
  return (
    <>
      <div className="rounded-xl border border-line bg-panel p-4">
        <Facts>
          <Fact name="What it is for">{visible(data.description === '' ? (data.title ?? '') : data.description)}</Fact>
          <Fact name="Written in">
            {visible(data.source.file)}{' '}
            <span className="text-muted">{data.source.pack === '' ? '' : `of the pack ${visible(data.source.pack)}`}</span>
          </Fact>
          <Fact name="In the place of">
            {data.shadows.length === 0 ? undefined : data.shadows.map(({ file }) => visible(file)).join(', ')}
          </Fact>
          <Fact name="Compiler">{data.compiler}</Fact>
          <Fact name="To be filled in">
            {data.var_defs.length === 0
              ? undefined
              : data.var_defs.map((one) => `${one.name}${one.required === true ? '' : ' (may stay empty)'}`).join(', ')}
          </Fact>
        </Facts>
      </div>
      <ol aria-label={`Steps of ${name}`} className="flex flex-col divide-y divide-line rounded-xl border border-line bg-panel">
        {asTree(
          data.steps,
          ({ id }) => id,
          ({ parent }) => parent,
        ).map(({ item: step, depth }) => (
          <li
            key={step.id}
            data-depth={Math.min(depth, 6)}
            className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 px-4 py-2 text-sm"
            style={{ paddingLeft: 16 + Math.min(depth, 6) * 20 }}
          >
            <code className="text-xs text-muted">{visible(step.id)}</code>
            <span className="min-w-0">{visible(step.title)}</span>
            {step.kind !== 'task' && <State tone="quiet">{step.kind}</State>}
            <span className="text-xs text-muted">
              {[
                step.assignee === undefined || step.assignee === '' ? undefined : `for ${step.assignee}`,
                needs.get(step.id) === undefined ? undefined : `after ${needs.get(step.id)!.join(', ')}`,
                step.repeated_by === undefined ? undefined : `repeated by ${step.repeated_by}`,
              ]
                .filter((one) => one !== undefined)
                .map((one) => visible(one!))
                .join(' · ')}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

function Runs({ city, name }: PartProps): ReactNode {
  const { data, error, again } = useCityRead(
    city,
    `runs of ${name}`,
    (signal) =>
      get<Schemas['FormulaRunsResponse']>(inCity(city, `formulas/${part(name)}/runs`), {
        query: { scope_kind: 'city', scope_ref: city, limit: 20 },
        signal,
      }),
    kinds('molecule.', 'execution.'),
  );
  if (data === undefined) return error === undefined ? <Loading rows={3} /> : <Problem error={error} onRetry={again} />;
  const rows = data.recent_runs ?? [];
  if (rows.length === 0) return <Empty title="It has never been run" />;
  return (
    <>
      <Rows label={`Runs of ${name}`}>
        {rows.map((run) => (
          <li key={run.workflow_id}>
            <Link
              to="/c/$city/runs/$id"
              params={{ city, id: run.workflow_id }}
              className="grid grid-cols-[5rem_1fr_auto_3rem] items-center gap-4 px-4 py-2 text-sm hover:bg-raised"
            >
              <span className="font-mono text-xs">{visible(run.workflow_id)}</span>
              <span className="truncate">{visible(run.target)}</span>
              <State tone={run.status === 'failed' ? 'bad' : run.status === 'completed' ? 'good' : 'quiet'}>{visible(run.status)}</State>
              <span className="justify-self-end text-xs text-muted">
                <Age at={run.started_at} />
              </span>
            </Link>
          </li>
        ))}
      </Rows>
      {data.run_count > rows.length && (
        <p className="text-sm text-muted">
          The newest {rows.length} of {data.run_count}.
        </p>
      )}
    </>
  );
}

function Source({ city, name }: PartProps): ReactNode {
  const navigate = useNavigate({ from: '/c/$city/formulas/$name' });
  const { data, error, again } = useCityRead(
    city,
    `source of ${name}`,
    (signal) => getStamped<Schemas['FormulaSourceOutputBody']>(inCity(city, `formulas/${part(name)}/source`), { signal }),
    kinds('config.', 'pack.'),
  );
  const [dialog, setDialog] = useState<'edit' | 'delete'>();
  const { failed, busy, act } = useActing(again);
  const not = useForbidden(needs.saveFormula, needs.deleteFormula);
  // No member of a request: only the service finds it in the text.
  const commands = useForbidden('commands');
  if (data === undefined) return error === undefined ? <Loading rows={4} /> : <Problem error={error} onRetry={again} />;
  const { body, revision } = data;
  const path = inCity(city, `formulas/${part(name)}`);
  // What is taken away, or replaced, needs less than what says what is run.
  const undo =
    commands !== undefined && mayRun(body.source) ? undefined : (): Promise<unknown> => request('PUT', path, { file: body.source });
  return (
    <div className="flex flex-col gap-3">
      {failed !== undefined && <Problem error={failed} />}
      <div className="flex gap-2">
        <Button not={not} disabled={busy} onClick={() => setDialog('edit')}>
          Edit
        </Button>
        <Button look="bad" not={not} disabled={busy} onClick={() => setDialog('delete')}>
          Delete
        </Button>
      </div>
      <Code>{body.source}</Code>
      {dialog === 'edit' && (
        <FormulaEditor
          city={city}
          name={name}
          source={body.source}
          revision={revision}
          onClose={() => setDialog(undefined)}
          onTheirs={() => {
            setDialog(undefined);
            again();
          }}
          onDone={() => {
            setDialog(undefined);
            again();
            done(`${name} is saved`, undo && (() => undo().then(again)));
          }}
        />
      )}
      {dialog === 'delete' && (
        <Confirm
          title={`Delete ${name}?`}
          action={`Delete ${name}`}
          onClose={() => setDialog(undefined)}
          onYes={() =>
            act(
              () => request('DELETE', path, { ifMatch: revision }),
              () => {
                done(`${name} is deleted`, undo);
                void navigate({ to: '/c/$city/formulas', params: { city }, search: {} });
              },
            )
          }
        >
          What a pack has under the name counts again, if one has. Runs of it go on.
        </Confirm>
      )}
    </div>
  );
}
