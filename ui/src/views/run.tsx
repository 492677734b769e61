import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useMemo, useState, type ReactNode } from 'react';
import { get, inCity, newKey, part, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { counted } from '../lib/counted.js';
import { useKeys } from '../lib/keys.js';
import { failureOf, isDone } from '../lib/run-end.js';
import { visible } from '../lib/text.js';
import { asTree } from '../lib/tree.js';
import { loading } from '../lib/part.js';
import { kinds, useCityRead } from '../live/use-read.js';
import { useActing } from '../parts/acting.js';
import { oldSince } from '../parts/as-of.js';
import { Age, Button, Confirm } from '../parts/basics.js';
import { AgentLink, BeadLink } from '../parts/links.js';
import { CityPage, Fact, Facts, Loading, Progress, Tabs } from '../parts/page.js';
import { isOver, RUN_TONES, RunStateOf } from '../parts/run-state.js';
import { StartRun } from '../parts/start-run.js';
import { Code } from '../parts/tool.js';

const Flow = lazy(loading(() => import('../graph/flow.js').then((module) => ({ default: module.Flow }))));
const Timeline = lazy(loading(() => import('../timeline/run-timeline.js').then(({ RunTimeline }) => ({ default: RunTimeline }))));
const TABS = [
  ['tree', 'Steps'],
  ['timeline', 'Timeline'],
  ['graph', 'Graph'],
] as const;
type Tab = (typeof TABS)[number][0];
type Step = Schemas['RunStep'];

/** A run as its steps: a tree, over time, or as a graph. */
export function RunPage(): ReactNode {
  const { city, id } = useParams({ from: '/c/$city/runs/$id' });
  const { tab: asked, from, to } = useSearch({ from: '/c/$city/runs/$id' });
  const navigate = useNavigate({ from: '/c/$city/runs/$id' });
  const tab: Tab = TABS.find(([one]) => one === asked)?.[0] ?? 'tree';
  const path = inCity(city, `runs/${part(id)}`);
  const { data, error, asOf, again } = useCityRead(
    city,
    `run ${id}`,
    async (signal) => {
      const [run, steps] = await Promise.all([
        get<Schemas['Run']>(path, { signal }),
        get<Schemas['RunStepsOutputBody']>(`${path}/steps`, { signal }),
      ]);
      return { run, steps: steps.steps ?? [] };
    },
    kinds('bead.', 'molecule.', 'execution.'),
  );
  const { failed, busy, act } = useActing(again);
  const [dialog, setDialog] = useState<'cancel' | 'again'>();
  const not = useForbidden(needs.cancelRun, needs.sling);
  const run = data?.run;
  const over = run !== undefined && isOver(run.status);
  const failure = run === undefined ? undefined : failureOf(run);
  useKeys('This run', [
    ...(run?.formula === undefined || not !== undefined ? [] : [{ keys: 's', label: 'start it again', run: () => setDialog('again') }]),
    { keys: 'u', label: 'back to the runs', run: () => void navigate({ to: '/c/$city/runs', params: { city }, search: {} }) },
  ]);
  return (
    <CityPage
      city={city}
      title={run === undefined ? id : visible(run.title)}
      count={run === undefined ? undefined : <RunStateOf status={run.status} />}
      error={failed ?? error}
      onRetry={again}
      asOf={oldSince({ error, asOf })}
      tools={
        run !== undefined && (
          <>
            {run.formula !== undefined && (
              <Button hotkey="s" not={not} onClick={() => setDialog('again')}>
                Start again
              </Button>
            )}
            {!over && (
              <Button look="bad" not={not} disabled={busy} onClick={() => setDialog('cancel')}>
                Cancel
              </Button>
            )}
          </>
        )
      }
    >
      {data === undefined && error === undefined && <Loading />}
      {run !== undefined && data !== undefined && (
        <>
          <div className="flex flex-col gap-3 rounded-xl border border-line bg-panel p-4">
            <Progress done={run.progress.closed} total={run.progress.total} quiet={!isDone(run.status)} />
            <Facts>
              <Fact name="Formula">
                {run.formula === undefined ? undefined : (
                  <Link to="/c/$city/formulas/$name" params={{ city, name: run.formula }} className="text-accent underline">
                    {visible(run.formula)}
                  </Link>
                )}
              </Fact>
              <Fact name="For">
                {run.target === undefined || run.target === '' ? undefined : <AgentLink city={city} name={run.target} />}
              </Fact>
              <Fact name="On the bead">
                {run.source_id === undefined || run.source_id === '' ? undefined : <BeadLink city={city} id={run.source_id} />}
              </Fact>
              <Fact name="Root">
                <BeadLink city={city} id={run.run_id} />
              </Fact>
              <Fact name="Started">
                {run.started_at === undefined ? undefined : (
                  <>
                    <Age at={run.started_at} /> ago
                  </>
                )}
              </Fact>
              <Fact name={run.status === 'canceled' ? 'Canceled with' : 'Failed with'}>
                {failure === undefined ? undefined : visible(failure)}
              </Fact>
            </Facts>
          </div>
          <Tabs
            label="Readings of the run"
            tabs={TABS}
            value={tab}
            onChange={(next) => void navigate({ search: next === 'tree' ? {} : { tab: next }, replace: true })}
          />
          {tab === 'tree' && <Steps city={city} steps={data.steps} />}
          {tab === 'graph' && <StepGraph city={city} id={id} steps={data.steps} />}
          {tab === 'timeline' && (
            <Suspense fallback={<Loading rows={4} />}>
              <Timeline
                city={city}
                run={run}
                steps={data.steps}
                zoom={from === undefined || to === undefined ? undefined : { from: Number(from), to: Number(to) }}
                onZoom={(next) =>
                  void navigate({
                    search: ({ from: _, to: __, ...rest }) =>
                      next === undefined ? rest : { ...rest, from: String(Math.round(next.from)), to: String(Math.round(next.to)) },
                    replace: true,
                  })
                }
              />
            </Suspense>
          )}
        </>
      )}
      {dialog === 'cancel' && (
        <Confirm
          title={`Cancel ${id}?`}
          action={`Cancel ${id}`}
          onClose={() => setDialog(undefined)}
          onYes={() => act(() => post(`${path}/cancel`, undefined, { idempotencyKey: newKey() }), again)}
        >
          What is open of it is closed as canceled, and the sessions that are at it are asked to end their turn. It cannot go on afterwards;
          it can be started again.
        </Confirm>
      )}
      {dialog === 'again' && run?.formula !== undefined && (
        <StartRun
          city={city}
          formula={run.formula}
          target={run.target ?? ''}
          bead={run.source_id ?? ''}
          onClose={() => setDialog(undefined)}
        />
      )}
    </CityPage>
  );
}

function Steps({ city, steps }: { city: string; steps: readonly Step[] }): ReactNode {
  const tree = useMemo(
    () =>
      asTree(
        steps,
        ({ id }) => id,
        ({ parent }) => parent,
      ),
    [steps],
  );
  const [open, setOpen] = useState<string>();
  if (steps.length === 0) return <p className="text-sm text-muted">It has no steps.</p>;
  return (
    <ol aria-label="Steps of the run" className="flex flex-col divide-y divide-line rounded-xl border border-line bg-panel">
      {tree.map(({ item: step, depth }) => (
        <li
          key={step.id}
          data-step={step.id}
          data-status={step.status}
          className="py-2 pr-4 [content-visibility:auto]"
          style={{ paddingLeft: 16 + Math.min(depth, 6) * 22 }}
        >
          <div className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 text-sm">
            <span className="w-24 shrink-0">
              <RunStateOf status={step.status} />
            </span>
            <BeadLink city={city} id={step.id} />
            <span className="min-w-0">{visible(step.title)}</span>
            {step.kind !== undefined && step.kind !== 'task' && (
              <span className="rounded bg-raised px-1.5 text-xs text-muted">{visible(step.kind)}</span>
            )}
            <span className="text-xs text-muted">
              {[
                step.assignee === undefined || step.assignee === '' ? undefined : step.assignee,
                step.member === undefined ? undefined : `for ${step.member}`,
                step.needs.length === 0 || isOver(step.status) ? undefined : `after ${step.needs.join(', ')}`,
                step.units === undefined
                  ? undefined
                  : `${step.units.filter(({ status }) => status !== 'active').length} of ${counted(step.units.length, 'unit')} over`,
              ]
                .filter((one) => one !== undefined)
                .map((one) => visible(one!))
                .join(' · ')}
            </span>
            {step.check !== undefined && (
              <Button look="quiet" aria-expanded={open === step.id} onClick={() => setOpen(open === step.id ? undefined : step.id)}>
                {step.check.passed ? 'The check has passed' : `The check says no (${step.check.reason})`}
              </Button>
            )}
          </div>
          {open === step.id && step.check !== undefined && (
            <div className="mt-2">
              <Code>{step.check.output ?? 'It wrote nothing.'}</Code>
            </div>
          )}
        </li>
      ))}
    </ol>
  );
}

function StepGraph({ city, id, steps }: { city: string; id: string; steps: readonly Step[] }): ReactNode {
  const navigate = useNavigate();
  const nodes = useMemo(
    () =>
      steps.map((step) => ({
        id: step.id,
        title: step.title,
        state: step.status,
        tone: RUN_TONES[step.status],
        ended: isOver(step.status),
      })),
    [steps],
  );
  const edges = useMemo(() => {
    const lines = steps.flatMap((step) => step.needs.map((from) => ({ from, to: step.id, kind: 'needs' })));
    const parts = steps.flatMap((step) => (step.parent === undefined ? [] : [{ from: step.id, to: step.parent, kind: 'parent-child' }]));
    return [...lines, ...parts];
  }, [steps]);
  return (
    <Suspense fallback={<Loading rows={4} />}>
      <Flow
        nodes={nodes}
        edges={edges}
        here={id}
        label="The steps of the run"
        onOpen={(step) => void navigate({ to: '/c/$city/beads/$id', params: { city, id: step } })}
      />
    </Suspense>
  );
}
